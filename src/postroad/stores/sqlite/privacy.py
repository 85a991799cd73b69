"""A road's files are its user's alone: they hold bodies, and keys to what is sealed."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

OWN: Final = 0o600
OTHERS: Final = 0o077
BESIDE: Final = ("", "-wal", "-shm", ".lock", ".keys", ".keys.new", ".keys.new.part", ".door")
"""What lies beside a road's file, by how its name goes on."""


def create_private(path: Path) -> None:
    """Make the file, if there is none, before SQLite does: what it puts beside it gets the same
    mode. Where that cannot be done, SQLite says why.

    One that is there is never opened: closing it would drop all locks that SQLite has on it in
    this process, and the next program that looks into the file would delete its log (POSIX).
    """
    with suppress(OSError):
        file = path.resolve()  # also where a link leads to nothing yet
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWN))


def make_private(path: Path) -> list[Path]:
    """Take away what others may do with the files of a road, where they are ours; answers with
    which. Files of another user are left to that one."""
    changed = []
    for name in (path.with_name(path.name + end) for end in BESIDE):
        with suppress(OSError):
            found = name.lstat()
            if (
                stat.S_ISREG(found.st_mode)
                and found.st_mode & OTHERS
                and found.st_uid == os.geteuid()
            ):
                name.chmod(OWN)
                changed.append(name)
    return changed
