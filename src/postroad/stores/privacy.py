"""A road's files are its user's alone: they hold bodies, and keys to what is sealed."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from postroad.model.errors import UnsafeFile

OWN: Final = 0o600
OTHERS: Final = 0o077
KEYS: Final = (".keys", ".keys.new", ".keys.new.part")
BESIDE: Final = ("", "-wal", "-shm", ".lock", *KEYS, ".token")
"""What lies beside a road's file, by how its name goes on."""
ROOT: Final = 0


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


def write_private(path: Path, data: bytes, road: Path) -> None:
    """Make a file of this name that is its user's alone, whole or not at all, whatever has that
    name now: a link is removed and never followed. It is on the disk before this returns. For the
    user whose road it is, as SQLite does with its own files: what an administrator's command made
    would shut that one out."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(part, flags, OWN), "wb") as file:
        os.fchmod(file.fileno(), OWN)  # a umask may have taken our own rights
        if os.geteuid() == ROOT:
            owner = road.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_private(path: Path, road: Path, bytes_max: int) -> bytes | None:
    """Read a secret that lies beside a road's file; None when there is none. It is believed when
    nobody else could have written or read it: it is ours, root's, or of the road's owner."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if path.is_symlink() else error.strerror
        raise UnsafeFile(f"{path} is not read: {why}; {_mend(path)}") from None
    try:
        why = _unsafe(os.fstat(number), road, bytes_max)
        if why:
            raise UnsafeFile(f"{path} is not read: {why}; {_mend(path)}")
        return os.read(number, bytes_max)
    finally:
        os.close(number)


def _mend(path: Path) -> str:
    return f"see who put it there (`ls -l {path}`), then remove it, or make it its owner's alone"


def _unsafe(found: os.stat_result, road: Path, bytes_max: int) -> str:
    """Why a file is not to be believed; empty when it is."""
    if not stat.S_ISREG(found.st_mode):
        return "it is no regular file"
    if found.st_uid not in (os.geteuid(), ROOT, owner_of(road)):
        return f"it belongs to user {found.st_uid}"
    if found.st_mode & OTHERS:
        return f"others may use it (mode {stat.S_IMODE(found.st_mode):o}, not {OWN:o})"
    if found.st_size > bytes_max:
        return f"it has {found.st_size} bytes, more than the {bytes_max} that it may"
    return ""


def owner_of(road: Path) -> int:
    """The user whose file it is; root, if it is not there."""
    try:
        return road.stat().st_uid
    except OSError:
        return ROOT
