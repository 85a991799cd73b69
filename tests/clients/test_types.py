"""The types of the JavaScript package are those of what it exports."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.pages import PACKAGE
from tests.webhook_requests.node import installed, programs

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "node"
FILES = ("package.json", "package-lock.json", "usage.ts")
STRICT = (
    *("--noEmit", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"),
    *("--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext"),
    *("--lib", "es2022,dom,dom.iterable"),
)
PAPERS = {"readme.mts": PACKAGE / "README.md", "guide.mts": ROOT / "docs" / "guide" / "hub.md"}
SHOWN = re.compile(r"^```js\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GIVEN = """
declare const box: string, otherBox: string, recipientToken: string, senderToken: string;
declare const token: string, newSecret: string, oldSecret: string;
declare const request: Request, rawBody: Uint8Array;
"""
"""What the papers' examples take from the program around them."""


def test_each_name_that_is_exported_has_a_type() -> None:
    made = (PACKAGE / "src" / "index.js").read_text()
    exported = {name for names in re.findall(r"\{([^}]+)\}", made) for name in names.split(",")}
    typed = re.findall(
        r"^export (?:class|function) (\w+)", (PACKAGE / "index.d.ts").read_text(), re.MULTILINE
    )
    assert sorted(name.strip() for name in exported) == sorted(typed)


@pytest.mark.wide
def test_the_types_hold_for_a_program_that_uses_all_of_them(tmp_path: Path) -> None:
    packages = installed(FOLDER, FILES) / "node_modules"
    place = tmp_path / "node_modules" / "postroad"
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("test"))
    shutil.copy(FOLDER / "usage.ts", tmp_path / "usage.mts")
    for name, paper in PAPERS.items():
        shown = SHOWN.findall(paper.read_text())
        (tmp_path / name).write_text(GIVEN + "".join(shown))
    compiler = str(packages / "typescript" / "bin" / "tsc")
    done = subprocess.run(
        [programs()[0], compiler, *STRICT, "usage.mts", *PAPERS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
