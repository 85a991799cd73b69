"""Each tutorial is followed from an empty folder to its end, command by command, and README too.

Postroad is installed as docs/tutorial/install.md says, in an environment of its own: nothing of the
checkout is to be found but by that.
"""

import re
from pathlib import Path

import pytest

from scripts import release
from tests.packages.installing import Stranger
from tests.tutorial.reader import NotShown, Reader

pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]

FOLDER = release.ROOT / "docs" / "tutorial"
TUTORIALS = sorted(path for path in FOLDER.glob("*.md") if path.stem != "install")
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `postroad` is after the commands of install.md."""
    folder = tmp_path_factory.mktemp("installed")
    dist = folder / "dist"
    dist.mkdir()
    _ = release.build(dist, release.epoch())
    stranger = Stranger(folder, dist)
    (typed, *_) = TYPED.findall((FOLDER / "install.md").read_text())
    assert "/path/to/checkout" in typed
    typed = typed.replace("/path/to/checkout", str(stranger.gets_checkout(dist)))
    assert f"postroad {release.project()['version']}" in stranger.types("bash", "-ec", typed)
    return folder / ".venv" / "bin"


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_reader_comes_to_the_end(tutorial: Path, programs: Path, tmp_path: Path) -> None:
    with Reader(tmp_path, programs) as reader:
        assert reader.follow(tutorial.read_text()) >= 6


def readme() -> str:
    """README's program and commands, as a tutorial shows them."""
    paper = (release.ROOT / "README.md").read_text()
    (program,) = PROGRAM.findall(paper)
    (typed,) = TYPED.findall(paper)
    blocks = [f"```python\n# first.py\n{program}```\n", "```console\n$ python first.py\n```\n"]
    for line in typed.splitlines():
        terminal = "<!-- server -->\n" if line.startswith("postroad up") else ""
        once = line.replace("postroad top", "postroad top --once")
        blocks.append(f"{terminal}```console\n$ {once}\n{SHOWN.get(line.split()[1], '')}```\n")
    return "".join(blocks) + "<!-- server prints -->\n```text\ntry 1: welcome, Bo!\n```\n"


SHOWN = {
    "up": "The API and a worker at …\n",
    "send": "msg_… is stored\n",
    "message": "msg_… for welcome was delivered …\n",
    "login": "http://…\n",
}


def test_a_reader_of_readme_comes_to_the_end(programs: Path, tmp_path: Path) -> None:
    with Reader(tmp_path, programs) as reader:
        assert reader.follow(readme()) == 8


def test_a_reader_who_sees_something_else_says_so(tmp_path: Path) -> None:
    with Reader(tmp_path, tmp_path) as reader:
        shown = "```console\n$ echo one; echo two\none\n…wo\n```\n"
        assert reader.follow(shown) == 1
        with pytest.raises(NotShown, match="three"):
            reader.follow(shown.replace("…wo", "three"))
        with pytest.raises(NotShown, match="where to save"):
            reader.follow("```python\nprint(1)\n```\n")
