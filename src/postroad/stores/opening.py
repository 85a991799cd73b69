"""The store that a DSN names."""

from pathlib import Path

from postroad.model.errors import BadDsn
from postroad.ports.clock import Clock
from postroad.ports.store import Store
from postroad.stores.postgres.store import PostgresStore
from postroad.stores.sqlite.store import SqliteStore


def open_store(dsn: str, clock: Clock) -> Store:
    """The store, not opened yet."""
    if dsn.startswith("sqlite:///"):
        name = dsn.removeprefix("sqlite:///")
        if not name or name == ":memory:":
            raise BadDsn(f"{dsn!r}: name a file, as in sqlite:///road.db; a road outlives memory")
        return SqliteStore(Path(name), clock)
    if dsn.startswith(("postgresql://", "postgres://")):
        return PostgresStore(dsn, clock)
    raise BadDsn(f"{dsn!r} is not understood: use sqlite:///FILE or postgresql://…")
