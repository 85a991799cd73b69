"""Moves a stopped road from SQLite to PostgreSQL: every table, by its columns, in batches that can
be continued, then counted and compared by key."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
from msgspec import Struct

from postroad.model.errors import BadDsn, CopyRefused
from postroad.model.foreign import LOST
from postroad.model.states import NEVER
from postroad.stores.naming import keys_begun, keys_beside
from postroad.stores.postgres import migration
from postroad.stores.postgres.connections import QUERIES, Raw, connected, read_address
from postroad.stores.sqlite import leases
from postroad.stores.sqlite.base import locked
from postroad.stores.sqlite.database import Database, named_errors
from postroad.stores.sqlite.migration import migrate

BATCH: Final = 5_000
DAY_MS: Final = 86_400_000
LEFT_OUT: Final = {
    "process": "owners are processes, and all of them have ended; their numbers go on",
    "queue_walk": "how far a walk over this road's queues is",
    "unused_queue": "since when queues are seen unused; the target looks by itself",
    "listed": "the index of lists, which PostgreSQL has in its history",
    "list_mark": "how far the index of lists is",
    "sqlite_sequence": "SQLite's own: the last number of a process is taken from it",
}
"""Tables of the source that are not copied, and why."""
NOT_IN_SQLITE: Final = {
    "arrival": "sent inside a caller's own transaction: SQLite puts it on its rung at once",
    "event_arrival": "published inside a caller's own transaction: SQLite matches it at once",
    "hub": "which process is the hub; on SQLite the one that has the file",
    "queue_walk": "how far a walk over all queues is",
    "unused_queue": "since when queues are seen unused, from now on",
    "history_batch": "history, which is copied through its view",
    "process": "those who run this road, and nobody does yet",
    "schema_version": "the version of this schema; SQLite has it in the file's header",
    "copying": "how far a copy is",
    "copied": "that a copy is whole",
    "hold": "a view: what holds messages back",
    "pause": "a view: why a queue is paused",
    "queue_hold": "the same, by queue and lane",
}
"""Tables of the target that nothing is copied into, and why."""
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


class Copied(Struct, frozen=True):
    """How many rows each table has. `already_ms`: an earlier copy was complete, at that time, and
    nothing was done now. `keys_file`: where the keys are that the road had of its own; what they
    sealed opens on the target with the same keys."""

    counts: dict[str, int]
    keys_file: str = ""
    already_ms: int = 0


async def copy(source: str, target: str, told: Told) -> Copied:
    """Copy and verify, unless that was done before."""
    if not source.startswith("sqlite:///") or not target.startswith(("postgresql:", "postgres:")):
        raise BadDsn("a road is copied from sqlite:///FILE to postgresql://…")
    path = Path(source.removeprefix("sqlite:///"))
    if not path.exists():  # noqa: ASYNC240 - a command, and nothing else runs here
        raise CopyRefused(f"there is no road at {path}")
    if keys_begun(path).exists() and not keys_beside(path).exists():
        raise CopyRefused(
            f"{path} was given its own key by a start that was not finished, and is half sealed: "
            "start it once more (`postroad queues` will do), then copy it"
        )
    with _source(path) as db:
        async with _target(target) as raw:
            tables = await _tables(db, raw)
            counts = {table.name: _count(db, table.name) for table in tables}
            holds = _holds(db, counts)
            if ended_ms := await _ended_ms(raw, holds):
                return Copied(counts, _keys_file(path), ended_ms)
            done = await _begin(raw, db, holds)
            await _make_days(db, raw)
            for table in tables:
                await _table(db, raw, table, done.get(table.name, 0), counts, told)
            await _verify(db, raw, tables)
            await raw.execute(QUERIES["copy_end"])
            return Copied(counts, _keys_file(path))


def _keys_file(path: Path) -> str:
    keys = keys_beside(path)
    return str(keys.absolute()) if keys.exists() else ""


@contextmanager
def _source(path: Path) -> Iterator[Database]:
    """The source, locked: nobody runs it, and its lanes belong to nobody."""
    with locked(path) as db:
        _ = migrate(db)  # how many steps it took does not matter
        with named_errors(path), db.connection:
            _ = leases.reap(db, NEVER)  # nobody else has this file open
        yield db


@asynccontextmanager
async def _target(dsn: str) -> AsyncIterator[Raw]:
    address = read_address(dsn)
    async with connected(address) as raw:
        found = await migration.versions(raw)
        if found.copying and found.version != migration.VERSION:
            raise CopyRefused(
                "a copy was begun with another release of Postroad: go on with that one, or drop "
                "the schema `postroad` in PostgreSQL and copy again"
            )
        _ = await migration.move(raw, address.name)  # how many steps it took does not matter
        yield raw


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


def _last_process(db: Database) -> int:
    query = "select coalesce(max(seq), 0) from sqlite_sequence where name = 'process'"
    rows: list[Any] = db.connection.execute(query).fetchall()
    return int(rows[0][0])


def _holds(db: Database, counts: Mapping[str, int]) -> str:
    """What the source holds. A process that opens a road takes a number, so it also tells whether
    one did: what changed need not have changed a count."""
    (newest,) = db.connection.execute("select coalesce(max(id), 0) from message").fetchall()[0]
    return msgspec.json.encode([sorted(counts.items()), newest, _last_process(db)]).decode()


async def _ended_ms(raw: Raw, holds: str) -> int:
    """When a copy of this source was complete; 0 when none was."""
    if await raw.fetchval(QUERIES["copy_stage"]) != "done":
        return 0
    rows = await raw.fetch(QUERIES["copy_done"])
    if any(row["source"] != holds for row in rows):
        raise CopyRefused(
            "a copy into this PostgreSQL road was complete before, and its source was another "
            "road, or this one was opened since: copy into an empty database"
        )
    return max(int(row["ended_at"]) for row in rows)


async def _begin(raw: Raw, db: Database, holds: str) -> dict[str, int]:
    """How far an earlier copy came; nothing when this is the first. From here on nobody can run
    the target."""
    async with raw.transaction():
        begun = await raw.fetchval(QUERIES["copy_stage"]) == "begun"
        await raw.execute(QUERIES["copy_begin"])
        if not begun and await raw.fetchval(QUERIES["copy_is_used"]):
            raise CopyRefused(
                "the PostgreSQL road is in use, or was: stop what runs there, and copy into an "
                "empty database or drop its schema `postroad`"
            )
        state = await raw.fetch(QUERIES["copy_state"])
        if any(source != holds for _, _, source in state):
            raise CopyRefused(
                "a copy was begun, and the SQLite road was opened or changed since: drop the "
                "schema `postroad` in PostgreSQL and copy again"
            )
        await raw.fetchval(QUERIES["copy_allow"])
        await raw.execute(QUERIES["copy_note"], "process", _last_process(db), holds)
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
            await raw.fetchval(QUERIES["copy_allow"])
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
    if isinstance(value, bytes) and kind != "bytea":
        value = value.decode()
    return _text(value, kind) if isinstance(value, str) else value


def _text(value: str, kind: str) -> str:
    """SQLite keeps a zero character, PostgreSQL does not: an error's text may have one."""
    if kind == "jsonb":
        return value.replace("\\u0000", "\\ufffd")
    return value.replace("\0", LOST)


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
