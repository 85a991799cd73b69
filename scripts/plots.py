"""`make plots`: pictures and tables of benchmark results, from the JSON that `make bench` leaves.

Results of bench/results/ are kept in docs/figures/, and drawn from there: docs/img/bench-NAME.svg and
docs/figures.md. A test compares both with the kept results.
"""

import json
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
KEPT = ROOT / "docs" / "figures"
IMAGES = ROOT / "docs" / "img"
PAGE = ROOT / "docs" / "figures.md"
WIDTH, LABEL, ROW, SIZE = 760, 330, 26, 13
COLOURS = {"ours": "#2f6fde", "peers": "#8b93a1", "limit": "#c9ced6"}
WHO = {"ours": "Postroad", "peers": "peer", "limit": "bare"}
Json = dict[str, Any]


def keep() -> None:
    """Take over what benchmarks have left, without what only their makers need."""
    KEPT.mkdir(exist_ok=True)
    for path in sorted(RESULTS.glob("*.json")):
        found = json.loads(path.read_text())
        short = {
            "bench": found["bench"],
            "rates": {side: _rates(side, found[side]) for side in COLOURS},
            "bars": [each for each in found["bars"] if each["bar"] != "counts-agree"],
            "measured": found["measured"],
        }
        (KEPT / path.name).write_text(json.dumps(short, indent=2) + "\n")


def _rates(side: str, figures: Json) -> dict[str, float]:
    """Messages a second, of those that have them; a plain number is one, but for the machine's."""
    found = {
        name: each.get("messages_per_s") if isinstance(each, dict) else each
        for name, each in figures.items()
        if isinstance(each, dict) or side != "limit"
    }
    return {name: round(rate, 1) for name, rate in found.items() if isinstance(rate, int | float)}


def kept() -> list[Json]:
    """The results that the papers show, by name."""
    return [json.loads(path.read_text()) for path in sorted(KEPT.glob("*.json"))]


def drawing(result: Json) -> str:
    """One bar for each rate, longest first, within one scale."""
    rows = sorted(
        (
            (rate, name, side)
            for side, each in result["rates"].items()
            for name, rate in each.items()
        ),
        reverse=True,
    )
    most = max(rate for rate, _, _ in rows)
    height = ROW * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f'<g font-family="system-ui, sans-serif" font-size="{SIZE}">',
        f"<title>{escape(result['bench'])}: messages a second</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (rate, name, side) in enumerate(rows):
        top = 5 + ROW * number
        length = max(1, round((WIDTH - LABEL - 90) * rate / most))
        label = escape(f"{name} ({WHO[side]})")
        parts += [
            f'<text x="{LABEL - 10}" y="{top + 17}" text-anchor="end" fill="#1d2330">{label}</text>',
            f'<rect x="{LABEL}" y="{top + 4}" width="{length}" height="{ROW - 8}" fill="{COLOURS[side]}"/>',
            f'<text x="{LABEL + length + 6}" y="{top + 17}" fill="#1d2330">{rate:,.0f}</text>',
        ]
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def page(results: list[Json]) -> str:
    """The pictures, each with its table."""
    lines = [
        "# Figures of benchmarks",
        "<!-- Written by scripts/plots.py from docs/figures/*.json. -->",
        "",
        "Drawn from the JSON of single runs (`make bench NAME=…`, then `make plots`). A run on a machine with other work says little by itself: compare within one picture,",
        "and see its load. What was measured on quiet machines, over many runs, is in [benchmarks](benchmarks.md), and so is what each name means.",
    ]
    for result in results:
        lines += ["", f"## {result['bench']}", "", _when(result["measured"]), ""]
        if any(result["rates"].values()):
            lines += [
                f"![{result['bench']}: messages a second](img/bench-{result['bench']}.svg)",
                "",
            ]
            lines += ["| what | whose | messages a second |", "| --- | --- | --- |"]
            lines += [
                f"| `{name}` | {WHO[side]} | {rate:,.0f} |"
                for side, each in result["rates"].items()
                for name, rate in each.items()
            ] + [""]
        lines += ["| bar | floor | reached | holds |", "| --- | --- | --- | --- |"]
        lines += [
            f"| `{each['bar']}` | {each['floor']:g} | {each['reached']:.2f} | {'yes' if each['holds'] else '**no**'} |"
            for each in result["bars"]
        ]
    return "\n".join(lines) + "\n"


def _when(measured: Json) -> str:
    return (
        f"{measured['at'][:10]}, {measured['seconds']:g} s, {measured['cores']} cores, load {measured['load']:.1f},"
        f" Python {measured['python']}."
    )


def files() -> dict[Path, str]:
    """All that is drawn and written."""
    results = kept()
    drawn = {
        IMAGES / f"bench-{each['bench']}.svg": drawing(each)
        for each in results
        if any(each["rates"].values())
    }
    return {PAGE: page(results), **drawn}


if __name__ == "__main__":
    keep()
    for place, content in files().items():
        place.write_text(content)
