"""The dead set's guide runs, and prints what it shows."""

from pathlib import Path

import pytest

from tests.guides.running import Example, examples, run, same

pytestmark = pytest.mark.wide

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "dead-set.md"


def test_each_example_prints_what_the_guide_shows(tmp_path: Path) -> None:
    """One after the other, on one road, as a reader would."""
    found = examples(GUIDE)
    assert len(found) == 5
    for example in found:
        printed = run(example.code, tmp_path)
        assert same(printed, example.shown), printed


def test_an_example_that_prints_something_else_is_noticed(tmp_path: Path) -> None:
    """Only ids and times may differ."""
    example = Example("print('msg_0ahx1wfdm0001', 2)", "msg_0000000000000 2\n")
    assert same(run(example.code, tmp_path), example.shown)
    assert not same(run(example.code, tmp_path), "msg_0000000000000 3\n")
