"""Moves a stopped road from SQLite to PostgreSQL: every table, by its columns, in batches that
can be taken up again, then counted and compared by key."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Final

import apsw
import asyncpg
import msgspec
from msgspec import Struct

from postroad.model.errors import BadDsn, CopyRefused
from postroad.model.states import NEVER
from postroad.stores.postgres import schema
from postroad.stores.postgres.connections import QUERIES, Raw, dial, read_address
from postroad.stores.postgres.errors import named
from postroad.stores.sqlite import leases
from postroad.stores.sqlite.database import Database, named_errors
from postroad.stores.sqlite.schema import FileLock, migrate

BATCH: Final = 5_000
DAY_MS: Final = 86_400_000
LEFT_OUT: Final = frozenset({"process", "sqlite_sequence"})
"""Owners are processes, and all of them have ended."""
Told = Callable[[str, int, int], None]
"""Called with a table, how many of its rows are there, and how many there will be."""


class Table(Struct, frozen=True):
    """A table of the source, its columns with their types in the target, and its key."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [name for name, _ in self.columns]


async def copy(source: str, target: str, told: Told) -> dict[str, int]:
    """Copy, verify, and answer how many rows each table has."""
    if not source.startswith("sqlite:///") or not target.startswith(("postgresql:", "postgres:")):
        raise BadDsn("a road is copied from sqlite:///FILE to postgresql://…")
    path = Path(source.removeprefix("sqlite:///"))
    if not path.exists():  # noqa: ASYNC240 - a command, and nothing else runs here
        raise CopyRefused(f"there is no road at {path}")
    with _source(path) as db:
        async with _target(target) as raw:
            tables = await _tables(db, raw)
            counts = {table.name: _count(db, table.name) for table in tables}
            done = await _begin(raw, counts, db)
            await _make_days(db, raw)
            for table in tables:
                await _table(db, raw, table, done.get(table.name, 0), counts, told)
            await _verify(db, raw, tables)
            await raw.execute(QUERIES["copy_end"])
            return counts


@contextmanager
def _source(path: Path) -> Iterator[Database]:
    """The source, locked: nobody runs it, and its lanes belong to nobody."""
    lock = FileLock(path)
    lock.take()
    try:
        db = Database(path)
        try:
            _ = migrate(db)  # how many steps it took does not matter
            with named_errors(path), db.connection:
                _ = leases.reap(db, NEVER)  # nobody else has this file open
            yield db
        finally:
            db.close()
    finally:
        lock.drop()


@asynccontextmanager
async def _target(dsn: str) -> AsyncIterator[Raw]:
    address = read_address(dsn)
    raw = await dial(address, pooled=True)
    try:
        _ = await schema.move(raw)  # how many steps it took does not matter
        yield raw
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise named(error, address.name) from error
    finally:
        raw.terminate()


async def _tables(db: Database, raw: Raw) -> list[Table]:
    theirs: dict[str, dict[str, str]] = {}
    for name, column, kind, _ in await raw.fetch(QUERIES["copy_columns"]):
        theirs.setdefault(name, {})[column] = kind
    found = []
    for (name,) in db.connection.execute("select name from sqlite_schema where type = 'table'"):
        if name in LEFT_OUT:
            continue
        rows = list(db.connection.execute("select name, pk from pragma_table_info(?)", (name,)))
        missing = [column for column, _ in rows if column not in theirs.get(name, {})]
        if missing:
            raise CopyRefused(f"PostgreSQL has no {name}.{missing[0]}: upgrade Postroad")
        columns = tuple((column, theirs[name][column]) for column, _ in rows)
        key = tuple(column for column, place in sorted(rows, key=lambda row: row[1]) if place)
        found.append(Table(name, columns, key))
    return found


def _count(db: Database, name: str) -> int:
    (row,) = db.connection.execute(f"select count(*) from {name}").fetchall()  # noqa: S608
    count: Any = row[0]
    return int(count)


async def _begin(raw: Raw, counts: Mapping[str, int], db: Database) -> dict[str, int]:
    """How far an earlier copy came; nothing when this is the first."""
    (newest,) = db.connection.execute("select coalesce(max(id), 0) from message").fetchall()[0]
    holds = msgspec.json.encode([sorted(counts.items()), newest]).decode()
    begun = await raw.fetchval("select to_regclass('postroad.copying') is not null")
    if not begun and await raw.fetchval(QUERIES["copy_is_used"]):
        raise CopyRefused("the PostgreSQL road is in use: copy into an empty database")
    await raw.execute(QUERIES["copy_begin"])
    state = await raw.fetch(QUERIES["copy_state"])
    if any(source != holds for _, _, source in state):
        raise CopyRefused(
            "a copy was begun, and the SQLite road has changed since: drop the schema `postroad` "
            "in PostgreSQL and copy again"
        )
    (last,) = db.connection.execute("select coalesce(max(id), 0) from process").fetchall()[0]
    await raw.execute(QUERIES["copy_note"], "process", last, holds)
    return {name: rows for name, rows, _ in state}


async def _make_days(db: Database, raw: Raw) -> None:
    days = f"select distinct finished_at / {DAY_MS} from history"  # noqa: S608
    async with raw.transaction():
        await raw.execute("set local search_path = postroad, pg_temp")
        for (day,) in db.connection.execute(days).fetchall():
            await raw.fetchval(QUERIES["copy_day"], day)


async def _table(
    db: Database, raw: Raw, table: Table, done: int, counts: Mapping[str, int], told: Told
) -> None:
    holds = await raw.fetchval("select source from postroad.copying where name = 'process'")
    order = ", ".join(table.key) or "rowid"
    query = f"select {', '.join(table.names)} from {table.name} order by {order}"  # noqa: S608
    rows = islice(db.connection.execute(query), done, None)
    while batch := [_row(table, row) for row in islice(rows, BATCH)]:
        async with raw.transaction():
            await raw.copy_records_to_table(
                table.name, records=batch, columns=table.names, schema_name="postroad"
            )
            done += len(batch)
            await raw.execute(QUERIES["copy_note"], table.name, done, holds)
        told(table.name, done, counts[table.name])


def _row(table: Table, row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        _value(table.name, name, kind, value)
        for (name, kind), value in zip(table.columns, row, strict=True)
    )


def _value(table: str, column: str, kind: str, value: Any) -> Any:
    if (table, column) == ("lane", "owner"):
        return None
    if kind == "boolean":
        return bool(value)
    return value.decode() if isinstance(value, bytes) and kind != "bytea" else value


async def _verify(db: Database, raw: Raw, tables: Sequence[Table]) -> None:
    """Counts and keys must be the same on both sides."""
    for table in tables:
        keys = ", ".join(table.key)
        ours = _sum(db.connection.execute(f"select {keys} from {table.name}"))  # noqa: S608
        async with raw.transaction():
            theirs = Sum()
            async for row in raw.cursor(f"select {keys} from postroad.{table.name}"):  # noqa: S608
                theirs.add(tuple(row))
        if (ours.count, ours.total) != (theirs.count, theirs.total):
            raise CopyRefused(
                f"{table.name} differs: {ours.count} rows here, {theirs.count} there, or other "
                "keys; drop the schema `postroad` in PostgreSQL and copy again"
            )


class Sum:
    """How many keys, and a sum over all of them that does not depend on their order."""

    def __init__(self) -> None:
        self.count = self.total = 0

    def add(self, key: tuple[Any, ...]) -> None:
        """One more."""
        digest = blake2b(repr(key).encode(), digest_size=8).digest()
        self.count += 1
        self.total = (self.total + int.from_bytes(digest)) % (1 << 64)


def _sum(rows: "apsw.Cursor") -> Sum:
    found = Sum()
    for row in rows:
        found.add(tuple(row))
    return found
