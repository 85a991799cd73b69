"""The store that a DSN names."""

from pathlib import Path

from postroad.model.errors import BadDsn
from postroad.ports.clock import Clock, SystemClock
from postroad.ports.store import Store
from postroad.stores.postgres import schema as postgres_schema
from postroad.stores.postgres.store import PostgresStore
from postroad.stores.rabbitmq.options import read_options
from postroad.stores.rabbitmq.store import RabbitStore
from postroad.stores.sqlite import schema as sqlite_schema
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.schema import FileLock
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
    if dsn.startswith(("amqp://", "amqps://")):
        options = read_options(dsn)
        state = open_store(options.state, clock)
        if not isinstance(state, SqliteStore | PostgresStore):  # pragma: no cover - checked there
            raise BadDsn(f"state={options.state!r} cannot be a state store")
        return RabbitStore(options, state)
    raise BadDsn(f"{dsn!r} is not understood: use sqlite:///FILE, postgresql://… or amqp://…")


def file_of(dsn: str) -> Path | None:
    """The SQLite file of a road, or of its state beside a broker; None when there is none."""
    if dsn.startswith(("amqp://", "amqps://")):
        dsn = read_options(dsn).state
    name = dsn.removeprefix("sqlite:///")
    return Path(name) if name != dsn else None


def shown(dsn: str) -> str:
    """A store's address without its passwords, which may also stand behind the question mark."""
    if dsn.startswith("sqlite:"):
        return dsn
    if dsn.startswith(("amqp://", "amqps://")):
        try:
            options = read_options(dsn)
        except BadDsn:
            return "amqp://…"
        return f"{options.address.name}?state={shown(options.state)}"
    address, mark, query = dsn.partition("?")
    scheme, _, rest = address.partition("://")
    login, at, place = rest.rpartition("@")
    user = f"{login.partition(':')[0]}:…@" if at else ""
    names = "&".join(f"{each.partition('=')[0]}=…" for each in query.split("&") if "=" in each)
    return f"{scheme}://{user}{place}{mark}{names}"


async def migrate(dsn: str) -> tuple[int, int]:
    """Bring a road's schema to this release's version; answers the steps taken and the version."""
    store = open_store(dsn, SystemClock())
    if isinstance(store, RabbitStore):
        return await migrate(store.options.state)
    if isinstance(store, PostgresStore):
        return await postgres_schema.migrate(store.address), postgres_schema.VERSION
    if not isinstance(store, SqliteStore):  # pragma: no cover - there are two
        raise BadDsn(f"{dsn!r} has no schema")
    lock = FileLock(store.path)
    lock.take()
    try:
        db = Database(store.path)
        try:
            return sqlite_schema.migrate(db), sqlite_schema.VERSION
        finally:
            db.close()
    finally:
        lock.drop()
