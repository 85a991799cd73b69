"""Every table and column of the real schemas is copied, or named with the reason why not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from postroad.model.states import NEVER
from postroad.stores.copying import LEFT_OUT, NOT_IN_SQLITE, copy
from postroad.stores.postgres import migration
from postroad.stores.postgres.connections import dial, read_address
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.migration import migrate
from tests.contract.postgres import Template

TABLES = """
select c.relname::text, a.attname::text
  from pg_class c join pg_attribute a on a.attrelid = c.oid
 where c.relnamespace = 'postroad'::regnamespace and c.relkind in ('r', 'p', 'v')
   and not c.relispartition and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
"""
NOW_MS = 1_700_000_000_000
FITTING: dict[str, dict[str, Any]] = {
    "queue": {"policy": b"{}", "block_kind": "quota", "block_until": 9},
    "token": {"digest": b"d" * 32, "kind": "session"},
    "mailbox": {"sender": b"s" * 32, "recipient": b"r" * 32, "first": 3, "next": 4, "over": 1},
    "letter": {"text": 1},
    "history": {"state": "cancelled", "late": 1, "finished_at": NOW_MS},
    "dead": {"reason": "crash_loop"},
    "suppression": {"reason": "complaint"},
    "mail_report": {"kind": "complaint"},
    "tick": {"fate": "sent"},
    "schedule": {
        "origin": "made",
        "every_ms": 0,
        "is_bytes": 1,
        "missed": "skip",
        "paused": 1,
        "look_at": NEVER,
    },
    "pace": {"counted": "[[5, 7]]"},
    "credential": {"kind": "webhook"},
    "campaign": {"state": "halted", "total": 300},
    "campaign_message": {"state": "uncertain"},
    "campaign_op": {"state": "intent"},
    "job": {"state": "SENDING", "owner": None},
    "lane": {"owner": None},
    "rollup": {"step": 10},
    "audit": {"outcome": "cut"},
    "endpoint": {"state": "disabled", "disabled_by": "itself"},
    "replay": {"state": "paused"},
    "event_type": {"warn": 1, "archived": 1},
    "batch": {"state": "open", "stops": 1},
    "batch_held": {"role": "then"},
    "restoration": {"id": 1},
}
"""What the checks of a table ask for; everything else is made from the column's type."""


def tables_of(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The tables of a new road's file, each with its columns and their types."""
    db = Database(path)
    try:
        migrate(db)
        named = db.connection.execute("select name from sqlite_schema where type = 'table'")
        info = "select name, type from pragma_table_info(?)"
        names: list[Any] = [name for (name,) in named.fetchall()]
        return {name: list(db.connection.execute(info, (name,))) for name in names}
    finally:
        db.close()


async def columns_there(dsn: str) -> dict[str, set[str]]:
    raw = await dial(read_address(dsn), pooled=True)
    try:
        await migration.move(raw, dsn)
        found: dict[str, set[str]] = {}
        for table, column in await raw.fetch(TABLES):
            found.setdefault(table, set()).add(column)
        return found
    finally:
        await raw.close()


async def test_every_table_is_copied_or_named_with_a_reason(
    tmp_path: Path, postgres: Template
) -> None:
    ours = tables_of(tmp_path / "road.db")
    theirs = await columns_there(postgres.server.create_database())
    copied = ours.keys() - LEFT_OUT.keys()
    assert copied <= theirs.keys()
    assert theirs.keys() - copied - NOT_IN_SQLITE.keys() == set()
    assert not copied & NOT_IN_SQLITE.keys()
    missing = {
        (table, column)
        for table in copied
        for column in theirs[table] ^ {name for name, _ in ours[table]}
    }
    assert missing == set()
    assert all({**LEFT_OUT, **NOT_IN_SQLITE}.values())


def fill(path: Path, tables: Mapping[str, list[tuple[str, str]]]) -> dict[str, dict[str, Any]]:
    """One row in every table."""
    made: dict[str, dict[str, Any]] = {}
    connection = apsw.Connection(str(path))
    for table in tables.keys() - LEFT_OUT.keys():
        row: dict[str, Any] = {}
        for place, (column, kind) in enumerate(tables[table], start=11):
            row[column] = {"INTEGER": place, "TEXT": column, "BLOB": column.encode()}[kind]
        row |= FITTING.get(table, {})
        marks = ", ".join("?" * len(row))
        statement = f"insert into {table} ({', '.join(row)}) values ({marks})"
        connection.execute(statement, tuple(row.values()))
        made[table] = row
    connection.close()
    return made


@pytest.mark.wide
async def test_a_row_of_every_table_is_the_same_after_a_copy(
    tmp_path: Path, postgres: Template
) -> None:
    tables = tables_of(tmp_path / "road.db")
    made = fill(tmp_path / "road.db", tables)
    target = postgres.server.create_database()
    done = await copy(f"sqlite:///{tmp_path}/road.db", target, lambda *_: None)
    assert {name for name, rows in done.counts.items() if rows} == made.keys()
    raw = await asyncpg.connect(target)
    try:
        for table, row in made.items():
            columns = ", ".join(f"{name}" for name in row)
            order = "order by level desc" if table == "lane_level" else ""
            query = f"select {columns} from postroad.{table} {order}"
            found = await raw.fetchrow(query)
            assert found is not None
            assert {name: as_in_sqlite(value) for name, value in found.items()} == {
                name: as_in_sqlite(value) for name, value in row.items()
            }, table
    finally:
        await raw.close()


def as_in_sqlite(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else int(value) if value is True else value
