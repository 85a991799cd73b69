"""Makes .venv from the lock, or does nothing when it is already right.

`python3 scripts/venv.py run` installs what the engine needs, `… dev` what the tests need on top,
`… docs` what builds the site, without Postroad; a third word names another folder than .venv,
which begins with .venv too.
Only the standard library: this runs before anything is installed.
"""

# An older Python must get as far as the message that says it is too old.
from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / (sys.argv[2:] or [".venv"])[0]
PYTHON = VENV / "bin" / "python"
SETS = ("run", "dev", "docs")
# `--no-compile`: only what gets imported is worth compiling.
QUIET = ("--no-compile", "--disable-pip-version-check")
PIP = (PYTHON, "-m", "pip", "install", *QUIET, "--no-deps", "--require-hashes")
OLDEST = (3, 11)


def stamp(name: str, source: Path) -> Path:
    """Where it is noted that `source` is installed. A moved checkout has other stamps, since a
    virtual environment holds absolute paths.
    """
    digest = hashlib.sha256(source.read_bytes() + str(VENV).encode()).hexdigest()
    return VENV / f".{name}-{digest[:16]}"


def lock(name: str) -> Path:
    return ROOT / "requirements" / f"{name}.lock"


def run(command: tuple[str | Path, ...]) -> subprocess.CompletedProcess[str]:
    env = {"UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "10", "UV_SYSTEM_CERTS": "1", **os.environ}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def step(say: str, *commands: tuple[str | Path, ...], hint: str = "") -> None:
    """Runs commands beside each other, in silence; the whole output of one that fails is shown."""
    sys.stdout.write(f"{say} … ")
    sys.stdout.flush()
    start = time.monotonic()
    with ThreadPoolExecutor() as threads:
        ended = list(threads.map(run, commands))
    for command, done in zip(commands, ended, strict=True):
        if done.returncode:
            sys.stdout.write("failed\n")
            sys.exit(f"{done.stdout}{done.stderr}\nfailed: {' '.join(map(str, command))}\n{hint}")
    sys.stdout.write(f"{time.monotonic() - start:.0f} s\n")


def make_venv() -> None:
    if VENV.exists():
        shutil.rmtree(VENV)
    step(
        f"making {VENV.name}",
        (sys.executable, "-m", "venv", VENV),
        hint="Python's venv module is missing or broken; on Debian and Ubuntu:"
        f" apt install python3-venv (this is Python {sys.version.split()[0]})",
    )


def stamps() -> set[Path]:
    return {path for name in SETS for path in VENV.glob(f".{name}-*")}


def halves(name: str) -> list[Path]:
    """Every other entry of a lock in a file of its own."""
    entries = re.split(r"^(?=\w)", lock(name).read_text(), flags=re.MULTILINE)
    files = [VENV / f"{name}-{half}.lock" for half in range(2)]
    for half, file in enumerate(files):
        file.write_text("".join(entries[half::2]))
    return files


def install_by_uv(name: str) -> bool:
    """Installs one lock with uv: 4 s of CPU for what takes pip 34, mostly to read the pages of the
    index. It fails where only pip is told the way to an index.
    """
    start = time.monotonic()
    if run((*PIP, "--target", VENV / "uv", "-r", lock("uv"))).returncode:
        return False
    uv = (VENV / "uv" / "bin" / "uv", "pip", "install", "--python", PYTHON)
    if run((*uv, "--no-deps", "--require-hashes", "-r", lock(name))).returncode:
        return False
    sys.stdout.write(f"installing requirements/{name}.lock … {time.monotonic() - start:.0f} s\n")
    return True


def install(name: str) -> None:
    """Installs one lock, with uv or by two pips: one took 53 s, 44 of them of one core; a lock is
    whole, so neither has to look for what the other one installs.
    """
    if not install_by_uv(name):
        each = [(*PIP, "-r", half) for half in halves(name)]
        step(f"installing requirements/{name}.lock with pip", *each)
    stamp(name, lock(name)).touch()


def install_project() -> None:
    """Installs Postroad itself in place; again when pyproject.toml, and so a command, changes."""
    mark = stamp("project", ROOT / "pyproject.toml")
    if mark.exists():
        return
    pip = (PYTHON, "-m", "pip", "install", "--disable-pip-version-check")
    step("installing postroad", (*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT))
    for old in VENV.glob(".project-*"):
        old.unlink()
    mark.touch()


def main(wanted: str) -> None:
    good = {stamp(name, lock(name)) for name in SETS}
    # No stamp at all: an install that was interrupted. A stamp of another lock: out of date.
    if not PYTHON.exists() or not stamps() or stamps() - good:
        make_venv()
    # dev.lock holds all of run.lock, so whoever has dev needs nothing for run.
    if not stamp("dev", lock("dev")).exists() and not stamp(wanted, lock(wanted)).exists():
        install(wanted)
    if wanted != "docs":
        install_project()


if __name__ == "__main__":
    if sys.version_info < OLDEST:
        sys.exit(
            f"Postroad needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this is"
            f" {sys.version.split()[0]}. Try: make PYTHON=python3.11 …"
        )
    # What is not right is deleted, so it must not be anything else than an environment.
    if sys.argv[1:2] not in [[name] for name in SETS] or not VENV.name.startswith(".venv"):
        sys.exit("usage: venv.py run|dev|docs [.venv-…]")
    # Two makes at once in one checkout take turns.
    with lock("run").open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        main(sys.argv[1])
