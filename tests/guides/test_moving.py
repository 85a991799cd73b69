"""The guides for those who come from another queue run, and print what they show."""

from pathlib import Path

import pytest

from tests.guides.running import examples, run

GUIDES = Path(__file__).parents[2] / "docs" / "guide"


@pytest.mark.parametrize("name", ["celery", "dramatiq", "procrastinate", "rq"])
def test_the_program_prints_what_the_guide_shows(name: str, tmp_path: Path) -> None:
    (example,) = examples(GUIDES / f"from-{name}.md")
    assert run(example.code, tmp_path) == example.shown
