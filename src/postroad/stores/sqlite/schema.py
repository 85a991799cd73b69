"""Opening a road's file: the lock that makes one process its owner, and the version of its tables."""

import fcntl
import os
import stat
from pathlib import Path
from typing import Final

from postroad.model.errors import ReadOnlyStore, RoadInUse, SchemaTooNew, SchemaTooOld
from postroad.stores.sql import number_of, read_scripts
from postroad.stores.sqlite.database import APPLICATION_ID, Database, named_errors

SCHEMA: Final = read_scripts("postroad.stores.sqlite", "schema")
"""The tables as they are now, by topic."""
MIGRATIONS: Final = read_scripts("postroad.stores.sqlite", "migrations")
"""What changes the tables of earlier releases, in order."""
BASELINE: Final = 100
"""The version of a road that no migration has changed. Lower ones are from before the first release."""
VERSION: Final = max([BASELINE, *map(number_of, MIGRATIONS)])


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
        """Let another process own it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def migrate(db: Database) -> int:
    """Bring the tables to this release's version, each step in a transaction; answers how many steps
    it took."""
    with named_errors(db.path):
        found = db.pragma("user_version")
        _check_version(db.path, found)
        if found == 0:
            _run(db, "\n".join(SCHEMA.values()), VERSION)
            return 1
        steps = [name for name in sorted(MIGRATIONS) if number_of(name) > found]
        for name in steps:
            _run(db, MIGRATIONS[name], number_of(name))
        return len(steps)


def _check_version(path: Path, found: int) -> None:
    if found > VERSION:
        raise SchemaTooNew(
            f"{path} has schema {found}, this Postroad knows up to {VERSION}: "
            "upgrade Postroad, or name another file"
        )
    if 0 < found < BASELINE:
        raise SchemaTooOld(
            f"{path} was made before Postroad's first release (schema {found}), and cannot be "
            "read any more: deliver what waits in it with the Postroad that made it, then name "
            "another file"
        )


def _run(db: Database, script: str, version: int) -> None:
    db.connection.execute("begin immediate")
    db.connection.execute(script)
    db.connection.execute(f"pragma user_version = {version}")
    db.connection.execute(f"pragma application_id = {APPLICATION_ID}")
    db.connection.execute("commit")
