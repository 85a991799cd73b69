"""The guide about events runs, and prints what it shows."""

from pathlib import Path

from tests.guides.running import examples, run, same

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "events.md"


def test_each_example_prints_what_the_guide_shows(tmp_path: Path) -> None:
    found = examples(GUIDE)
    assert len(found) == 2
    for example in found:
        printed = run(example.code, tmp_path)
        assert same(printed, example.shown), printed
