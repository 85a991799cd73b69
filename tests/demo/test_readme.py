"""What the papers show as Python runs, and their picture calls nobody."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.guides.running import examples, same

ROOT = Path(__file__).parents[2]
PAPERS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
WARNING = re.compile(r'level=warning event="([^"]+)"')

# What a newcomer sees on running the blocks, in order: on the screen, and as warnings in the log.
SHOWN: list[tuple[str, list[str]]] = [
    (r"msg_\w{13} is stored, whatever happens next\ntry 1: welcome, Ada!\n", []),
]


def python_blocks(path: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)


def run(code: str, folder: Path, warnings: Sequence[str] = ()) -> str:
    done = subprocess.run(
        (sys.executable, "-c", code), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert WARNING.findall(done.stderr) == list(warnings)
    assert "level=error" not in done.stderr
    return done.stdout


def test_the_readmes_python_does_what_it_says(tmp_path: Path) -> None:
    blocks = python_blocks(ROOT / "README.md")
    assert len(blocks) == len(SHOWN)
    for block, (shown, warnings) in zip(blocks, SHOWN, strict=True):
        output = run(block, tmp_path, warnings)
        assert re.fullmatch(shown, output), output


def test_the_other_papers_python_runs(tmp_path: Path) -> None:
    """Each guide's is run, and what it prints compared, by a test of its own; so are tutorials."""
    ran = 0
    for paper in (paper for paper in PAPERS if paper.parent.name not in ("tutorial", ROOT.name)):
        blocks = python_blocks(paper)
        if paper.parent.name == "guide":
            word = paper.stem.replace("-", "_")
            word = "moving" if word.startswith("from_") else word
            own = (f"guides/test_{word}.py", f"{word}/test_guide.py")
            found = any((ROOT / "tests" / name).exists() for name in own)
            assert found or not blocks, f"{paper.name} shows Python that nothing runs"
            continue
        for example in examples(paper):
            assert same(run(example.code, tmp_path), example.shown), paper.name
            ran += 1
    assert ran, "docs/reference/settings.md shows how to set one"


def test_the_picture_calls_nobody() -> None:
    svg = (ROOT / "docs" / "img" / "demo.svg").read_text()
    hosts = set(re.findall(r"https?://[^\s\"'<>)]+", svg))
    assert hosts == {"http://www.w3.org/2000/svg"}, "the name of the format, which nobody fetches"
    assert "circuit open" in svg.replace("&#160;", " ")
