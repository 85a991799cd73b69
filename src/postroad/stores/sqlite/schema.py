"""Opening a road's file: the lock that makes one process its owner, and schema versions."""

import fcntl
import os
import stat
from pathlib import Path
from typing import Final

from postroad.model.errors import ReadOnlyStore, RoadInUse, SchemaTooNew
from postroad.stores.sql import load, number_of
from postroad.stores.sqlite.database import APPLICATION_ID, Database, named_errors

MIGRATIONS: Final = load("postroad.stores.sqlite", "migrations")
VERSION: Final = max(map(number_of, MIGRATIONS))


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
                "send`), or use PostgreSQL for several"
            ) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0)

    def drop(self) -> None:
        """Another process may own it now."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def migrate(db: Database) -> int:
    """Bring the schema to this release's version; answers how many steps were taken."""
    with named_errors(db.path):
        found = db.pragma("user_version")
        if found > VERSION:
            raise SchemaTooNew(
                f"{db.path} has schema {found}, this Postroad knows up to {VERSION}: "
                "upgrade Postroad, or name another file"
            )
        steps = [name for name in sorted(MIGRATIONS) if number_of(name) > found]
        for name in steps:
            db.connection.execute("begin immediate")
            db.connection.execute(MIGRATIONS[name])
            db.connection.execute(f"pragma user_version = {number_of(name)}")
            db.connection.execute(f"pragma application_id = {APPLICATION_ID}")
            db.connection.execute("commit")
        return len(steps)
