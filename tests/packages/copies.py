"""The files of this checkout elsewhere: what is not committed yet is in them, what git ignores is not."""

import os
import shutil
import subprocess
from pathlib import Path

from scripts.release import ROOT

NOT_OURS = shutil.ignore_patterns(
    ".git", ".venv*", "node_modules", "__pycache__", ".*_cache", ".hypothesis", "dist"
)
WHO = {
    f"GIT_{role}_{what}": text
    for role in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "A maintainer"), ("EMAIL", "maintainer@example.com"))
}


def committed(folder: Path) -> Path:
    """A repository of its own with one commit."""
    shutil.copytree(ROOT, folder, ignore=NOT_OURS)
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "All of it")):
        git(folder, *words)
    for name, text in (("name", "A maintainer"), ("email", "maintainer@example.com")):
        git(folder, "config", f"user.{name}", text)
    return folder


def git(folder: Path, *words: str) -> bytes:
    environ = {**os.environ, **WHO}
    done = subprocess.run(
        ("git", *words), cwd=folder, env=environ, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
