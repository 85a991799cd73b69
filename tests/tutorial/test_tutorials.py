"""Each tutorial is followed from an empty folder to its end, command by command."""

from pathlib import Path

import pytest

from tests.tutorial.reader import NotShown, Reader

pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]

FOLDER = Path(__file__).parents[2] / "docs" / "tutorial"
# How to install is walked by the test of the wheel.
TUTORIALS = sorted(path for path in FOLDER.glob("*.md") if path.stem != "install")


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_reader_comes_to_the_end(tutorial: Path, tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        assert reader.follow(tutorial.read_text()) >= 6


def test_a_reader_who_sees_something_else_says_so(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        shown = "```console\n$ echo one; echo two\none\n…wo\n```\n"
        assert reader.follow(shown) == 1
        with pytest.raises(NotShown, match="three"):
            reader.follow(shown.replace("…wo", "three"))
        with pytest.raises(NotShown, match="where to save"):
            reader.follow("```python\nprint(1)\n```\n")
