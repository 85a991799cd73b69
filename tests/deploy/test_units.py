"""The units are taken by systemd, and leave a service little that it could do."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import ServerMissing, apt_install

UNITS = sorted((Path(__file__).parents[2] / "deploy" / "systemd").glob("*.service"))
INSTALLED = "/opt/postroad/bin/postroad"
EXPOSURE_MAX = "20"
"""Of 100. A service without any of these settings has 96."""


def analyze() -> str:
    for attempt in ("as found", "after apt"):
        if found := shutil.which("systemd-analyze"):
            return found
        if attempt == "as found":
            apt_install("systemd")
    raise ServerMissing("no systemd-analyze: run `apt-get install systemd` as root")


def checked(words: tuple[str, ...], unit: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [analyze(), *words, f"./{unit.name}"],
        cwd=unit.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def copied(folder: Path, unit: Path, *but: str) -> Path:
    """A unit whose program exists here, without some of its lines."""
    text = unit.read_text()
    assert f"ExecStart={INSTALLED} " in text
    here = str(Path(sys.executable).parent / "postroad")
    kept = [line for line in text.splitlines(keepends=True) if not line.startswith(but or "\0")]
    made = folder / unit.name
    made.write_text("".join(kept).replace(INSTALLED, here))
    return made


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_a_unit_and_finds_it_confined(tmp_path: Path, unit: Path) -> None:
    made = copied(tmp_path, unit)
    verified = checked(("verify", "--man=no"), made)
    assert (verified.returncode, verified.stderr) == (0, "")
    words = ("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager")
    confined = checked(words, made)
    assert confined.returncode == 0, confined.stdout


def test_a_unit_without_its_walls_or_with_a_wrong_word_is_refused(tmp_path: Path) -> None:
    words = ("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager")
    assert checked(words, copied(tmp_path, UNITS[0], "Protect", "Restrict")).returncode != 0
    wrong = copied(tmp_path, UNITS[0])
    wrong.write_text(wrong.read_text().replace("KillMode=mixed", "KillMode=gently"))
    assert "gently" in checked(("verify", "--man=no"), wrong).stderr
