"""One apsw connection: statements by name, pragmas, and SQLite's errors as ours."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import apsw

from postroad.model.errors import (
    CorruptStore,
    DiskFull,
    ReadOnlyStore,
    StoreError,
    StoreUnavailable,
)
from postroad.ports.sql import load
from postroad.stores.bell import Ring
from postroad.stores.privacy import create_private

QUERIES: Final = load("postroad.stores.sqlite", "queries")
APPLICATION_ID: Final = 0x526F6164  # "Road"
PRAGMAS: Final = ("application_id", "user_version", "schema_version")
PATIENCE_MS: Final = 10_000
"""How long a write waits for a transaction of somebody else: a caller's own, or a program's."""

Value = int | str | bytes | float | None
Row = tuple[Any, ...]
RungKey = tuple[int, int, int, int, int]


class Database:
    """A connection that runs statements by name and counts them. A `connection` that is given is
    the caller's own, and is used as it is."""

    def __init__(
        self, path: Path, *, readonly: bool = False, connection: apsw.Connection | None = None
    ) -> None:
        self.path = path
        self.counts: Counter[str] = Counter()
        self.label = "other"
        self.rings: list[Ring] = []
        self.rungs: dict[RungKey, int] = {}
        """Rung numbers by (lane, queue, level, priority, order group); cleared on rollback."""
        self.listed_until = 0
        """The id up to which this process has indexed finished messages."""
        self.turn = ""
        """The tenant after which the next claim, of several tenants, goes on."""
        if connection is not None:
            self.connection = connection
            return
        create_private(path)
        with named_errors(path):
            self.connection = apsw.Connection(str(path))
            self.connection.create_scalar_function("sha256", _sha256, 1, deterministic=True)
            self._check_ours()
            self._prepare(readonly=readonly)

    def _check_ours(self) -> None:
        """Refuse, before anything is changed, another program's file and one that is read-only."""
        kind, version, schema = (self.pragma(n) for n in PRAGMAS)
        if kind not in (0, APPLICATION_ID) or (kind == 0 and (version or schema)):
            raise CorruptStore(f"{self.path} is some other program's database: name another file")
        if self.connection.readonly("main"):
            raise ReadOnlyStore(f"{self.path} cannot be written: check who owns it")

    def pragma(self, name: str) -> int:
        """A number that SQLite stores about the file."""
        row: Row = self.connection.execute(f"pragma {name}").fetchall()[0]
        return int(row[0])

    def _prepare(self, *, readonly: bool) -> None:
        db = self.connection
        db.set_busy_timeout(PATIENCE_MS)
        if not readonly:  # the writer was there first; a look must not change the file
            db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        # The writer checkpoints by itself, and it alone: two checkpointers are what SQLite's
        # WAL-reset bug needed.
        db.execute("pragma wal_autocheckpoint = 0")
        db.execute("pragma mmap_size = 0")
        db.execute("pragma temp_store = memory")
        db.execute("pragma cache_size = -32000")
        if readonly:
            db.execute("pragma query_only = on")

    def all(self, name: str, *values: Value) -> list[Row]:
        """Run a statement; answers all its rows."""
        self.counts[self.label] += 1
        return self.connection.execute(QUERIES[name], values).fetchall()

    def one(self, name: str, *values: Value) -> Row | None:
        """Run a statement; answers its first row, or None."""
        rows = self.all(name, *values)
        return rows[0] if rows else None

    def rows(self, name: str, *values: Value) -> Iterator[Row]:
        """Run a statement; gives its rows as they come, to a reader that may stop early."""
        self.counts[self.label] += 1
        yield from self.connection.execute(QUERIES[name], values)

    def number(self, name: str, *values: Value) -> int | None:
        """Run a statement; answers the first value of its first row, or None."""
        row = self.one(name, *values)
        return row[0] if row else None

    def run(self, name: str, *values: Value) -> None:
        """Run a statement that answers nothing."""
        self.counts[self.label] += 1
        self.connection.execute(QUERIES[name], values)

    def many(self, name: str, rows: Iterable[Row]) -> None:
        """Run a statement for many rows."""
        self.counts[self.label] += 1
        self.connection.executemany(QUERIES[name], rows)

    def changed(self, name: str, *values: Value) -> int:
        """Run a statement; answers how many rows it changed."""
        self.run(name, *values)
        return self.connection.changes()

    def many_changed(self, name: str, rows: Iterable[Row]) -> int:
        """Run a statement for many rows; answers how many rows it changed."""
        before = self.connection.total_changes()
        self.many(name, rows)
        return self.connection.total_changes() - before

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def _sha256(*texts: Any) -> str:
    """What PostgreSQL has of its own."""
    return sha256(texts[0].encode()).hexdigest()


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turns SQLite's errors into ours, which say what to do."""
    try:
        yield
    except apsw.FullError as error:
        raise DiskFull(
            f"no space left for {path}: free some or move the road; nothing was half-written"
        ) from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise CorruptStore(
            f"{path} is damaged or not a Postroad database: restore a backup, or name another file"
        ) from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
        raise ReadOnlyStore(
            f"cannot write {path} or its folder: check that it exists and who owns it ({error})"
        ) from error
    except apsw.IOError as error:
        raise StoreUnavailable(f"reading or writing {path} failed: {error}") from error
    except apsw.BusyError as error:
        raise StoreUnavailable(f"{path} is locked by another program: {error}") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
