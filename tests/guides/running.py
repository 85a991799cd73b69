"""Examples of the guides: a block of Python, and the block of text that it prints."""

import re
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

EXAMPLE = re.compile(r"^```python\n(.*?)^```\n+(?:^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
ID = re.compile(r"msg_\w{13}")
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


class Example(Struct, frozen=True):
    """What to run, and what it shows."""

    code: str
    shown: str


def examples(guide: Path) -> list[Example]:
    """A guide's examples, in order."""
    return [Example(code, shown) for code, shown in EXAMPLE.findall(guide.read_text())]


def run(code: str, folder: Path) -> str:
    """What a program prints; it has to end well. (The log goes elsewhere.)"""
    (folder / "program.py").write_text(code)
    done = subprocess.run(
        (sys.executable, "program.py"), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def same(printed: str, shown: str) -> bool:
    """Whether two texts differ in ids and times at most."""
    one, two = (TIME.sub("TIME", ID.sub("ID", text)) for text in (printed, shown))
    return one == two
