"""The lock that makes one process the owner of a road's file."""

import fcntl
import os
import stat
from pathlib import Path

from postroad.model.errors import ReadOnlyStore, RoadInUse


class FileLock:
    """Held by the one process that has the road open."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._fd = -1

    def take(self) -> None:
        """Own the file, or say who does."""
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise ReadOnlyStore(
                f"cannot write {self._path}: {error.strerror}; check that its folder is there, and "
                "who owns it"
            ) from error
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            self.drop()
            raise ReadOnlyStore(f"{self._path} is no regular file: remove it")
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._fd, 32).decode("ascii", "replace") or "unknown"
            os.close(self._fd)
            self._fd = -1
            raise RoadInUse(
                f"{self._path.with_suffix('')} is open in process {holder}: one process at a time "
                "may own a SQLite road; stop that one, send through it (its HTTP API, `postroad "
                f"send`), or use PostgreSQL for several{_twice(holder)}"
            ) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0)

    def drop(self) -> None:
        """Let another process own it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _twice(holder: str) -> str:
    """What to do where a program's own parent has the road: reloaders import a program twice."""
    if holder != str(os.getppid()):
        return ""
    return (
        ". That process has started this one, as the reloaders of web servers do (`flask run "
        "--debug`), which import the program in both: open the road in the second one alone (in "
        "Flask, if werkzeug.serving.is_running_from_reloader())"
    )
