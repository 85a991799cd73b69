"""The guide to the portal runs, and prints what it shows."""

from pathlib import Path

from tests.guides.running import examples, run

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "portal.md"


def test_the_example_prints_what_the_guide_shows(tmp_path: Path) -> None:
    (example,) = examples(GUIDE)
    assert run(example.code, tmp_path) == example.shown
