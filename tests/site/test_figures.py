"""docs/figures.md and its pictures show the results that are kept beside them; README's figures are those
of docs/benchmarks.md, and the versions of peers those that were measured."""

import re
from pathlib import Path

from scripts import plots
from tests.house import papers

ROOT = Path(__file__).parents[2]
TIMES = re.compile(r"([\d.]+)(?: to ([\d.]+))? times [^()]+\(`(?:make bench NAME=)?([\w-]+)`\)")
SHARE = re.compile(r"([\d.]+) % [^()]+\(`(?:make bench NAME=)?([\w-]+)`\)")
BENCH = re.compile(r"\(`(?:make bench NAME=)?([\w-]+)`\)")
NAMED = re.compile(r"`(?:make bench NAME=)?([\w-]+)`")


def test_the_pictures_and_tables_are_those_of_the_kept_results() -> None:
    made = plots.files()
    assert len(made) > 2
    assert [place.name for place, text in made.items() if place.read_text() != text] == []


def test_a_bar_is_as_long_as_its_rate_and_names_are_text() -> None:
    rates = {"ours": {"a<b": 2000.0}, "peers": {"other": 500.0}, "limit": {}}
    lines = plots.drawing({"bench": "x", "rates": rates}).splitlines()
    bars = [line for line in lines if "<rect x=" in line]
    full, quarter = (int(line.split('width="')[1].split('"')[0]) for line in bars)
    assert full == 4 * quarter
    assert any("a&lt;b (Postroad)" in line for line in lines)


def reached(paper: str) -> dict[str, set[float]]:
    """What the rows of each benchmark tell, rounded as README does it."""
    found: dict[str, set[float]] = {}
    bench = ""
    for line in paper.splitlines():
        if line.startswith("| "):
            named = NAMED.search(line.split("|")[1])
            bench = named[1] if named else bench
            numbers = re.findall(r"\d+\.\d+", line.rpartition(" | ")[2])
            found.setdefault(bench, set()).update(round(float(each), 1) for each in numbers)
    return found


def faults(readme: str, benchmarks: str) -> list[str]:
    """Ratios of README that no row of their benchmark has."""
    told = TIMES.findall(" ".join(readme.split()))
    assert len(told) >= 1
    there = reached(benchmarks)
    return [
        f"{bench}: {each}"
        for low, high, bench in told
        for each in filter(None, (low, high))
        if float(each) not in there.get(bench, set())
    ]


def test_the_readmes_ratios_are_those_of_the_benchmarks_that_it_names() -> None:
    readme = (ROOT / "README.md").read_text()
    assert faults(readme, (ROOT / "docs" / "benchmarks.md").read_text()) == []
    names = {bench for _low, _high, bench in TIMES.findall(" ".join(readme.split()))}
    assert len(names) == 5
    assert [name for name in names if not papers.has_item(ROOT / "bench", name)] == []


def unmeasured(readme: str, benchmarks: str, kept: set[str]) -> list[str]:
    """Benchmarks of README without a kept result or a row of figures, and shares that no row has."""
    text = " ".join(readme.split())
    shares = {f"{bench}: {share} %" for share, bench in SHARE.findall(text)}
    rows = dict.fromkeys(reached(benchmarks), "")
    bench = ""
    for line in benchmarks.splitlines():
        if line.startswith("| "):
            named = NAMED.search(line.split("|")[1])
            bench = named[1] if named else bench
            rows[bench] = rows.get(bench, "") + line.rpartition(" | ")[2]
    figures = {bench for bench, told in rows.items() if re.search(r"\d", told)}
    return sorted(
        {each for each in shares if each.split(": ")[1] not in rows.get(each.split(": ")[0], "")}
        | {name for name in BENCH.findall(text) if name not in kept | figures}
    )


def test_every_benchmark_of_readme_has_its_figures() -> None:
    """Kept as JSON and drawn, or in the table of quiet runs."""
    kept = {place.stem for place in (ROOT / "docs" / "figures").glob("*.json")}
    readme = (ROOT / "README.md").read_text()
    assert len(BENCH.findall(readme)) >= 6
    assert SHARE.findall(" ".join(readme.split())) == [("95", "blocked")]
    assert unmeasured(readme, (ROOT / "docs" / "benchmarks.md").read_text(), kept) == []
    table = "| `a` | speed kept | 90 % | 95 % of it |\n| `b` | text | 1 | not yet |\n"
    told = "they keep 96 % of it (`a`), (`b`) (`c`) and (`d`)"
    assert unmeasured(told, table, {"c"}) == ["a: 96 %", "b", "d"]
    assert unmeasured("they keep 95 % of it (`a`)", table, set()) == []


def test_a_ratio_that_was_not_reached_is_named() -> None:
    table = "| `a` | x | 2 | 3.91 (8,383/s); 3.38 |\n| | y | 1 | 7.2 |\n| `b` | z | 1 | 5.0 |\n"
    assert faults("3.4 to 3.9 times it (`a`), 7.2 times that (`make bench NAME=a`)", table) == []
    assert faults("3.4 to 5.0 times it (`a`)", table) == ["a: 5.0"]


def test_peers_are_compared_at_the_versions_that_were_measured() -> None:
    said = (ROOT / "docs" / "comparison.md").read_text()
    lock = (ROOT / "requirements" / "dev.lock").read_text()
    for name, pin in (("Celery", "celery"), ("pgqueuer", "pgqueuer")):
        version = re.search(rf"^{pin}==(\d+\.\d+)", lock, re.MULTILINE)
        assert version
        assert f"{name} {version[1]} (" in said
