"""An answer may be a refusal: the type checker rejects a statement that drops one."""

import ast
import re
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).parent / "sample_answers.py"
KEPT = "return _receipts([send], await intake.put([drafted]))[0]"
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


@pytest.mark.timeout(900)  # it takes 20 s of CPU, beside whatever else runs
def test_a_dropped_answer_is_rejected_and_src_has_none(tmp_path: Path) -> None:
    """Over a copy of `src` with the sample beside it, and one answer dropped where it once was."""
    room = tmp_path / "src" / "postroad"
    shutil.copytree(ROOT / "src" / "postroad", room)
    shutil.copy(SAMPLE, room / "sample.py")
    sending = room / "verbs" / "sending.py"
    text = sending.read_text()
    assert text.count(KEPT) == 1
    sending.write_text(text.replace(KEPT, LOST))
    sample = SAMPLE.read_text().splitlines()
    dropped = {("sample.py", at) for at, line in enumerate(sample, 1) if line.endswith("# dropped")}
    at = next(at for at, line in enumerate(text.splitlines(), 1) if KEPT in line)
    assert rejected(tmp_path) == {("verbs/sending.py", at), *dropped}


def put_away(path: Path) -> Iterator[int]:
    """Lines in which an answer is put away without a word about it, on the line or above."""
    lines = path.read_text().splitlines()
    with path.open("rb") as file:
        marks = {
            token.start[0]
            for token in tokenize.tokenize(file.readline)
            if token.type == tokenize.COMMENT
        }
    for node in ast.walk(ast.parse("\n".join(lines))):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "_"
            and not marks & set(range(node.lineno - 1, (node.end_lineno or 0) + 1))
        ):
            yield node.lineno


def test_an_answer_is_put_away_with_a_reason(tmp_path: Path) -> None:
    bare = tmp_path / "bare.py"
    bare.write_text("_ = f()\n\n# Why.\n_ = f()\n_ = f()  # why\n")
    assert list(put_away(bare)) == [1]
    src = sorted((ROOT / "src").rglob("*.py"))
    assert [f"{path}:{at}" for path in src for at in put_away(path)] == []


def test_nobody_switches_it_off() -> None:
    texts = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    assert not any("dropped-answer" in text for text in texts)
