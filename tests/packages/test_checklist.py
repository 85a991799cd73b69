"""docs/releasing.md, walked dry: every command is one that the project has."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts import keep_release, release

ROOT = release.ROOT
PAGE = ROOT / "docs" / "releasing.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    lines = [line for block in BLOCK.findall(PAGE.read_text()) for line in block.splitlines()]
    return [shlex.split(line.replace("VERSION", "0.1.0")) for line in lines]


def walk(words: list[str], folder: Path) -> None:
    """Do what a command would do, without its effect."""
    match words:
        case ["make", *rest]:
            dry = subprocess.run(("make", "-n", *rest), cwd=ROOT, capture_output=True, check=False)
            assert dry.returncode == 0, dry.stderr
        case [".venv/bin/python", "scripts/keep_release.py"]:
            assert {name.partition("/")[0] for name in keep_release.files()} == {"docs", "tests"}
        case ["git", verb, *_]:
            assert (
                subprocess.run(("git", verb, "-h"), capture_output=True, check=False).returncode
                == 129
            )
        case ["sha256sum", "--check", name]:
            assert name == release.SUMS
            (folder / "file").write_text("x")
            sums = subprocess.run(
                ("sha256sum", "file"), cwd=folder, capture_output=True, check=True
            )
            (folder / name).write_bytes(sums.stdout)
            subprocess.run(words, cwd=folder, check=True)
        case ["pipx", "run", spec, "demo"]:
            assert spec.startswith("postroad==")
        case _:
            raise AssertionError(f"nobody knows how to walk {words}")


def test_every_step_can_be_taken(tmp_path: Path) -> None:
    found = commands()
    assert ["make", "release", "ARGS=--publish"] in found
    for words in found:
        if shutil.which(words[0]) or words[0] != "git":
            walk(words, tmp_path)


def test_a_step_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        walk(["make", "publish-everything"], tmp_path)
    with pytest.raises(AssertionError):
        walk(["rm", "dist"], tmp_path)
