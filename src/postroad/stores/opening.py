"""Opens the store that a DSN names. Drivers are imported on demand: a road on SQLite starts without
those of the others."""

from pathlib import Path

from postroad.model.errors import BadDsn
from postroad.model.extras import Needing
from postroad.ports.clock import Clock, SystemClock
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.stores.rabbitmq.options import read_options


def open_store(dsn: str, clock: Clock, log: Log | None = None) -> Store:
    """Make the store of a DSN. It is not opened yet."""
    if not isinstance(dsn, str):
        raise BadDsn(f"{dsn!r} is no address: give a text, as in 'sqlite:///road.db'")
    if dsn.startswith("sqlite:///"):
        from postroad.stores.sqlite.store import SqliteStore

        return SqliteStore(_file(dsn), clock)
    if dsn.startswith(("postgresql://", "postgres://")):
        with Needing("a road on PostgreSQL"):
            from postroad.stores.postgres.store import PostgresStore

        return PostgresStore(dsn, clock, log)
    if dsn.startswith(("amqp://", "amqps://")):
        return _on_broker(dsn, clock, log)
    told = repr(dsn) if "@" not in dsn else dsn.partition(":")[0]  # the rest has a password
    raise BadDsn(f"{told} is not understood: use sqlite:///FILE, postgresql://… or amqp://…")


def open_to_look(dsn: str, clock: Clock) -> Store:
    """Make the store of a DSN for somebody who only reads: a SQLite file is not changed. It is not
    opened yet."""
    if not dsn.startswith("sqlite:///"):
        return open_store(dsn, clock)
    from postroad.stores.sqlite.looking import LookingStore

    return LookingStore(_file(dsn), clock)


def _on_broker(dsn: str, clock: Clock, log: Log | None) -> Store:
    with Needing("a road on RabbitMQ", "rabbitmq"):
        from postroad.stores.rabbitmq.base import StateStore
        from postroad.stores.rabbitmq.store import RabbitStore

    options = read_options(dsn)
    state = open_store(options.state, clock, log)
    if not isinstance(state, StateStore):  # pragma: no cover - checked there
        raise BadDsn("state= cannot be a state store")
    return RabbitStore(options, state, log)


def _file(dsn: str) -> Path:
    name = dsn.removeprefix("sqlite:///")
    if not name or name == ":memory:":
        raise BadDsn(f"{dsn!r}: name a file, as in sqlite:///road.db; a road outlives memory")
    return Path(name)


async def has_road(dsn: str) -> bool:
    """Whether a road exists. Opening a store would create it."""
    if dsn.startswith("sqlite:///"):
        return _file(dsn).exists()
    if dsn.startswith(("postgresql://", "postgres://")):
        with Needing("a road on PostgreSQL"):
            from postroad.stores.postgres import migration
            from postroad.stores.postgres.connections import read_address

        return await migration.exists(read_address(dsn))
    if dsn.startswith(("amqp://", "amqps://")):
        return await has_road(read_options(dsn).state)
    return True


async def migrate(dsn: str) -> tuple[int, int]:
    """Migrate a road's schema to this release; answers the number of steps and the version."""
    if dsn.startswith(("amqp://", "amqps://")):
        return await migrate(read_options(dsn).state)
    if dsn.startswith("sqlite:///"):
        return _migrate_file(_file(dsn))
    with Needing("a road on PostgreSQL"):
        from postroad.stores.postgres import migration
        from postroad.stores.postgres.store import PostgresStore

    store = open_store(dsn, SystemClock())
    if not isinstance(store, PostgresStore):  # pragma: no cover - there are three
        raise BadDsn("this store has no schema")
    return await migration.migrate(store.address), migration.VERSION


def _migrate_file(path: Path) -> tuple[int, int]:
    from postroad.stores.sqlite.base import locked
    from postroad.stores.sqlite.migration import VERSION
    from postroad.stores.sqlite.migration import migrate as migrate_tables

    with locked(path) as db:
        return migrate_tables(db), VERSION
