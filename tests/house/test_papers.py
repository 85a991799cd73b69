"""What the papers say exists."""

import re
from pathlib import Path

import pytest

from tests.house import papers

ROOT = Path(__file__).parents[2]
HEAD = "# Promises\n\n| promise | proof |\n| --- | :-- |\n"


PROVEN = ["docs/promises.md", "docs/invariants.md", "docs/threat-model.md"]
PAGE_LINES = 50
PROMISES_MAX = 48
PROOFS_MAX = 6
TABLE = re.compile(r"^create (?:unlogged )?(?:table|view) (\w+)", re.MULTILINE)
PLAIN = sorted(
    str(path.relative_to(ROOT))
    for place in ("*.md", "docs/*.md", "docs/guide/*.md", "docs/decisions/*.md")
    for path in ROOT.glob(place)
)
DOMAIN = {
    *("lane", "queue", "rung", "ladder", "level", "block", "hold", "circuit", "probe", "epoch"),
    *("outcome", "order group", "rate slot", "ledger", "lease", "owner", "bell", "dead set"),
    *("history", "uncertain", "receipt", "campaign", "sender", "credential", "mailbox", "hub"),
    *("tenant", "room", "capacity", "try", "session", "transport", "seal", "hop", "outbox"),
}
"""Words that no reader can guess, and that must not lose their row."""
BANNED = {
    "afar": "`broker_state`, or what lies beside the broker",
    "ears?": "`SignalTrap` or `NotifyListener`",
    "ghosts?": "what it holds",
    "hungry": "what it waits for",
    "curious": "what it asks",
    "starved": "waiting for capacity",
    "order(?:ed)? slots?": "order group",
    "limits\\.room|`room`|the room": "capacity, `in_flight_max`",
    "anew": "again",
    "vett?ed": "checked",
    "mended": "repaired",
    "zombies?": "an owner that lost its lane",
    "poison": "a message that kills its process",
    "in company": "beside other tenants",
    "one door": "one place",
    "hung up on": "disconnected",
    "taken up again": "continued",
    "without a word": "what was not logged",
    "unheard": "what is logged",
}
"""Words of our own, as patterns, with what the papers say instead."""


@pytest.mark.parametrize("paper", PROVEN)
def test_every_promise_names_a_proof_that_exists(paper: str) -> None:
    breaches = papers.unproven_promises(ROOT, paper)
    assert not breaches, "\n".join(breaches)


def test_the_promises_are_a_page_that_a_user_reads() -> None:
    """They were 154 rows. The small print is a row of docs/invariants.md."""
    rows = papers.promise_rows((ROOT / "docs/promises.md").read_text())
    assert len(rows) <= PROMISES_MAX
    crowded = [number for number, row in rows if len(papers.TEST.findall(row)) > PROOFS_MAX]
    assert not crowded, f"docs/promises.md: too many tests in lines {crowded}"


ACTORS = ("Tenant", "Receiver", "Provider", "Hub", "Broker", "Local user", "Operator")


def test_the_threat_model_has_a_table_for_every_actor() -> None:
    parts = (ROOT / "docs" / "threat-model.md").read_text().split("\n## ")
    tables = [part.partition("\n")[0] for part in parts if papers.promise_rows(part)]
    assert [actor for actor in ACTORS if not any(name.startswith(actor) for name in tables)] == []


def test_every_decision_has_a_number_and_a_title() -> None:
    breaches = papers.misfiled_decisions(ROOT)
    assert not breaches, "\n".join(breaches)


def test_a_decision_is_one_page() -> None:
    breaches = papers.long_decisions(ROOT, PAGE_LINES)
    assert not breaches, "\n".join(breaches)


def test_every_word_of_the_glossary_is_defined_once() -> None:
    breaches = papers.glossary_breaches(ROOT)
    assert not breaches, "\n".join(breaches)
    assert papers.glossary_words(ROOT) >= DOMAIN


@pytest.mark.parametrize("paper", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_a_file_that_a_paper_names_exists(paper: str) -> None:
    breaches = papers.missing_files(ROOT, paper)
    assert not breaches, "\n".join(breaches)


def test_the_architecture_has_every_table_room_and_decision() -> None:
    """Fifteen tables, two rooms and eleven decisions were missing."""
    told = (ROOT / "docs/architecture.md").read_text()
    source = ROOT / "src/postroad"
    rooms = {each.name for each in source.iterdir() if (each / "__init__.py").exists()}
    rooms |= {each.name for each in source.glob("*.py") if not each.name.startswith("__")}
    assert [name for name in sorted(rooms) if f"\n      {name}" not in told] == []
    scripts = [*source.glob("stores/*/schema/*.sql"), *source.glob("stores/*/schema/tables/*.sql")]
    tables = {name for script in scripts for name in TABLE.findall(script.read_text())}
    assert len(tables) > 60
    assert [name for name in sorted(tables) if f"`{name}`" not in told] == []
    decisions = sorted(each.name for each in (ROOT / "docs/decisions").glob("*.md"))
    assert [name for name in decisions if f"(decisions/{name})" not in told] == []


def test_the_papers_use_no_private_words() -> None:
    breaches = papers.private_words(ROOT, PLAIN, BANNED)
    assert not breaches, "\n".join(breaches)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with one test, one test in a class, two proofs and a benchmark."""
    files = {
        "tests/test_a.py": "def test_one(): ...\nclass TestB:\n    async def test_two(self): ...\n",
        "proof/kill_nine.py": "",
        "proof/__main__.py": "ITEMS = ['long-blocks']\n",
        "bench/blocked.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "docs" / "decisions").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    "proof",
    [
        "`tests/test_a.py::test_one`",
        "`tests/test_a.py::test_one[sqlite-2]`",
        "`tests/test_a.py::TestB::test_two`",
        "`make proof ITEM=kill-nine SECONDS=60`",
        "`make proof ITEM=long-blocks`",
        "`make bench NAME=blocked`, `tests/test_a.py::test_one`",
    ],
)
def test_a_proven_promise_passes(project: Path, proof: str) -> None:
    (project / "docs/promises.md").write_text(f"{HEAD}| Nothing is lost | {proof} |\n")
    assert papers.unproven_promises(project) == []


@pytest.mark.parametrize(
    ("proof", "breach"),
    [
        ("we are sure", "names no test, proof or benchmark"),
        ("`tests/test_a.py`", "names no test, proof or benchmark"),
        ("`tests/test_a.py::test_two`", "there is no tests/test_a.py::test_two"),
        ("`tests/test_a.py::TestB::test_one`", "there is no tests/test_a.py::TestB::test_one"),
        ("`tests/test_b.py::test_one`", "there is no tests/test_b.py::test_one"),
        ("`make proof ITEM=blocked`", "there is no proof blocked"),
        ("`make bench NAME=kill-nine`", "there is no bench kill-nine"),
        ("`tests/test_a.py::test_one` `make proof ITEM=x`", "there is no proof x"),
    ],
)
def test_an_unproven_promise_is_named(project: Path, proof: str, breach: str) -> None:
    (project / "docs/promises.md").write_text(f"{HEAD}| Nothing is lost | {proof} |\n")
    assert papers.unproven_promises(project) == [f"docs/promises.md:5: {breach}"]


def test_a_paper_without_promises_is_named(project: Path) -> None:
    (project / "docs/promises.md").write_text(HEAD)
    assert papers.unproven_promises(project) == ["docs/promises.md: holds no promise"]


def test_a_misfiled_decision_is_named(project: Path) -> None:
    decisions = project / "docs/decisions"
    (decisions / "001-apsw.md").write_text("# 001. apsw\n")
    (decisions / "002-one-writer.md").write_text("# 002 One writer thread\n")
    assert papers.misfiled_decisions(project) == []

    (decisions / "002-two-writers.md").write_text("# 002. Two writers\n")
    (decisions / "003-bell.md").write_text("# The bell\n")
    (decisions / "lanes.md").write_text("# 004. Lanes\n")
    assert papers.misfiled_decisions(project) == [
        "docs/decisions/002-two-writers.md: number 002 is taken",
        "docs/decisions/003-bell.md: does not open with `# 003. Title`",
        "docs/decisions/lanes.md: not named NNN-title.md",
    ]


def test_a_word_that_is_defined_twice_or_not_at_all_is_named(project: Path) -> None:
    rows = ["| **lane** | A session. |", "| rung | A row. |", "| **lane** | A road. |"]
    head = "| word | meaning |\n| --- | --- |\n"
    (project / "docs/glossary.md").write_text(head + "\n".join(rows) + "\n")
    assert papers.glossary_breaches(project) == [
        "docs/glossary.md:4: is not `| **word** | A sentence. |`",
        "docs/glossary.md:5: `lane` is defined in line 3",
    ]
    assert papers.glossary_words(project) == {"lane"}


def test_a_file_that_is_gone_is_named(project: Path) -> None:
    (project / "src/postroad/engine").mkdir(parents=True)
    (project / "src/postroad/engine/lane.py").touch()
    text = "`engine/lane.py`, `lane.py`, `tests/test_a.py`, `engine/ahead.py`, `ahead.py`\n"
    (project / "docs/architecture.md").write_text(text)
    assert papers.missing_files(project) == [
        "docs/architecture.md: there is no engine/ahead.py",
        "docs/architecture.md: there is no ahead.py",
    ]


def test_a_private_word_and_a_long_decision_are_named(project: Path) -> None:
    (project / "README.md").write_text("The Ears listen.\nYears pass.\n")
    found = papers.private_words(project, ["README.md"], {"ears?": "`SignalTrap`"})
    assert found == ["README.md:1: `Ears`: write `SignalTrap`"]
    (project / "docs/decisions/001-long.md").write_text("# 001. Long\n" * 51)
    assert papers.long_decisions(project, 50) == ["docs/decisions/001-long.md: 51 lines"]
