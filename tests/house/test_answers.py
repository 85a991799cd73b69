"""An answer may be a refusal: the type checker rejects a statement that drops one."""

import ast
import re
import shutil
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).parent / "sample_answers.py"
KEPT = "return receipts_of([send], await intake.put([drafted]), self.jobs)[0]"
LOST = "await intake.put([drafted])\n        return Receipt(to_text(drafted.id), send.queue)"
"""How a receipt was once given for a message that nobody had."""


def rejected(folder: Path) -> set[tuple[str, int]]:
    """The lines in which mypy, set as for this tree, sees a dropped answer, and nothing else."""
    check = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    where = ["--cache-dir", str(folder / "cache"), "src"]
    done = subprocess.run([*check, *where], cwd=folder, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    found = [
        re.match(r"src/postroad/(.*?):(\d+): error: .*\[dropped-answer\]$", at) for at in lines
    ]
    assert all(found), done.stdout + done.stderr
    return {(each[1], int(each[2])) for each in found if each}


@pytest.mark.wide
def test_every_kind_of_dropped_answer_is_rejected(tmp_path: Path) -> None:
    """One dropped in `src` itself: `make proof ITEM=dropped-answers`. That src has none is said by
    `make lint`, which looks at all files with the same plugin."""
    room = tmp_path / "src" / "postroad"
    room.mkdir(parents=True)
    shutil.copy(SAMPLE, room / "sample.py")
    assert rejected(tmp_path) == dropped_in_sample()
    set_for_lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert set_for_lint["files"] == ["."]
    assert set_for_lint["plugins"] == ["scripts/dropped_answers.py"]


def dropped_in_sample() -> set[tuple[str, int]]:
    """The lines of the sample that drop an answer."""
    sample = SAMPLE.read_text().splitlines()
    return {("sample.py", at) for at, line in enumerate(sample, 1) if line.endswith("# dropped")}


def missed_in_src(folder: Path) -> set[tuple[str, int]]:
    """Over a copy of `src` with the sample beside it, and one answer dropped where it once was:
    lines that are rejected and should not be, or should be and are not."""
    room = folder / "src" / "postroad"
    shutil.copytree(ROOT / "src" / "postroad", room)
    shutil.copy(SAMPLE, room / "sample.py")
    sending = room / "verbs" / "sending.py"
    text = sending.read_text()
    at = dropped_at(text)
    sending.write_text(text.replace(KEPT, LOST))
    return rejected(folder) ^ {("verbs/sending.py", at), *dropped_in_sample()}


def dropped_at(text: str) -> int:
    """The one line in which the answer is kept."""
    (at,) = [at for at, line in enumerate(text.splitlines(), 1) if KEPT in line]
    return at


def test_the_line_that_once_dropped_one_is_where_the_proof_looks_for_it() -> None:
    assert dropped_at((ROOT / "src/postroad/verbs/sending.py").read_text()) > 0


def put_away(path: Path) -> Iterator[int]:
    """Lines in which an answer is put away without a word about it, on the line or above."""
    text = path.read_text()
    if "_ = " not in text:
        return
    with path.open("rb") as file:
        marks = {
            token.start[0]
            for token in tokenize.tokenize(file.readline)
            if token.type == tokenize.COMMENT
        }
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "_"
            and not marks & set(range(node.lineno - 1, (node.end_lineno or 0) + 1))
        ):
            yield node.lineno


@pytest.mark.wide
def test_an_answer_is_put_away_with_a_reason(tmp_path: Path) -> None:
    bare = tmp_path / "bare.py"
    bare.write_text("_ = f()\n\n# Why.\n_ = f()\n_ = f()  # why\n")
    assert list(put_away(bare)) == [1]
    src = sorted((ROOT / "src").rglob("*.py"))
    assert [f"{path}:{at}" for path in src for at in put_away(path)] == []


def test_nobody_switches_it_off() -> None:
    texts = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    assert not any("dropped-answer" in text for text in texts)
