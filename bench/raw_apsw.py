"""Limit: a bare apsw loop that inserts and deletes the rows of our messages, 100 a commit."""

import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import apsw

from bench.shape import Durability, Taken

BATCH = 100
COLUMNS = """
  id          integer primary key,
  rung_id     integer not null,
  place       integer not null,
  due         integer not null,
  level       integer not null check (level >= 0),
  attempts    integer not null default 0,
  marks       integer not null default 0,
  accepted_at integer not null,
  expires_at  integer not null,
  order_key   text not null default '',
  headers     blob not null,
  body        blob not null
"""
PLACE = "create index message_place on message (rung_id, place, id)"
INSERT = (
    "insert into message (id, rung_id, place, due, level, accepted_at, expires_at, order_key,"
    " headers, body) values (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9)"
)
PRAGMAS = ("journal_mode", "synchronous")
NEVER = 1 << 62
NOW_MS = 1_767_225_600_000


def run(folder: Path, seconds: float, *, index: str) -> list[Taken]:
    """Insert 100, commit, delete them, commit; again. `index`: "place" keeps the engine's index."""
    db = apsw.Connection(str(folder / "raw.db"))
    db.execute("pragma journal_mode = wal; pragma synchronous = full")
    # As the engine's: a longer log between checkpoints, the same cache.
    db.execute("pragma wal_autocheckpoint = 4000; pragma cache_size = -32000")
    db.execute(f"create table message ({COLUMNS}) strict")
    if index == "place":
        db.execute(PLACE)
    inserted = deleted = 0
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    for batch in count():
        if time.perf_counter() >= start_s + seconds:
            break
        rows = [_row(batch * BATCH + n) for n in range(BATCH)]
        inserted += _change(db, INSERT, rows)
        deleted += _change(db, "delete from message where id = ?", [(row[0],) for row in rows])
    took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    mode, synchronous = (db.execute(f"pragma {name}").get for name in PRAGMAS)
    ((left,),) = db.execute("select count(*) from message")
    db.close()
    return [
        Taken(
            name="raw-apsw",
            accepted=inserted,
            recorded=inserted - int(left),
            received=deleted,
            timed=inserted,
            seconds=took_s,
            cpu_s=cpu_s,
            durability=Durability(mode, synchronous),
        )
    ]


def _row(number: int) -> tuple[int, int, int, int, int, int, str, bytes, bytes]:
    """As the engine writes it for a small body: ids rise with time, 16 rungs take turns."""
    due_ms = NOW_MS + number // BATCH
    return (number << 13, number % 16, due_ms, due_ms, due_ms, NEVER, "", b"", b"%d" % number)


def _change(db: apsw.Connection, sql: str, rows: Sequence[tuple[int | str | bytes, ...]]) -> int:
    before = db.total_changes()
    db.execute("begin immediate")
    db.executemany(sql, rows)
    db.execute("commit")
    return db.total_changes() - before
