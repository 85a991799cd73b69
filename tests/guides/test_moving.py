"""The guides for those who come from another queue run, and print what they show."""

from pathlib import Path

import pytest

from tests.guides.running import examples, run

GUIDES = Path(__file__).parents[2] / "docs" / "guide"


@pytest.mark.parametrize("guide", sorted(GUIDES.glob("from-*.md")), ids=lambda guide: guide.stem)
def test_the_program_prints_what_the_guide_shows(guide: Path, tmp_path: Path) -> None:
    (example,) = examples(guide)
    assert run(example.code, tmp_path) == example.shown
