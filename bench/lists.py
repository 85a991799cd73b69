"""lists: what a page of messages by queue and day costs, against an indexed select of the same rows."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import apsw
import asyncpg
import uvloop

from bench.databases import start_server
from bench.shape import Say, Seen
from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send, draft
from postroad.model.entities import LaneKey, Policy, QueueSpec
from postroad.model.ids import EPOCH_MS, IdSequence, first_after

NAME = "lists"
SECONDS = 60.0
"""For measuring; building the roads takes about as long again."""
MESSAGES = 1_000_000
"""So many wait, and so many are in history."""
QUEUES = 1_000
DAYS = 7
MIXED = 50
"""Half of PostgreSQL's history lies in rows of so many messages of several queues."""
PAGE = 100
PAGES = 50
"""Pages, and then selects, between two looks at the CPU clock."""
TIMES_MAX = 5.0
BODY_BYTES_MAX = 1_000
NAMES = "https://example.com/hook/{}"
DAY_MS = 86_400_000
COLUMNS = "id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms"
FILL_POSTGRES = """
set search_path = postroad; set synchronous_commit = off;
insert into message (id, rung_id, place, due, level, accepted_at, expires_at, order_key, headers, body)
select ((t - {epoch}) << 22) | (n % 512 << 13) | 7, (select min(id) from rung) + floor({queues} * power(random(), 3))::int,
       t, t, 0, t, 4611686018427387904, '', '', convert_to(repeat('x', 200), 'UTF8')
  from (select n, {start} + n * {span}::bigint / {messages} as t from generate_series(1, {messages}) n) z;
select make_history_day({start} / {day} + d) from generate_series(0, {days} + 1) d;
insert into history_batch (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
select ((t - {epoch}) << 22) | (n % 512 << 13) | 9, {first} + floor({queues} * power(random(), 3))::int, 'delivered', t, t + 50, 0, 1, 12
  from (select n, {start} + n * {span}::bigint / ({messages} / 2) as t from generate_series(1, {messages} / 2) n) z;
insert into history_batch (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms, ids, queues, accepted, took)
select min(id), min(q), 'delivered', min(t), min(t) + 50, 0, 1, 12, array_agg((id & 268435455)::int), array_agg(q), array_agg(t), array_agg(12)
  from (select b, ((t - {epoch}) << 22) | (k << 13) | 11 as id, {first} + floor({queues} * power(random(), 3))::int as q, t
          from (select b, ({start} + b * {span}::bigint / ({messages} / {mixed} / 2)) >> 6 << 6 as t from generate_series(1, {messages} / {mixed} / 2) b) z,
               generate_series(1, {mixed}) k) y
 group by b;
create table public.plain as
select {columns}, 0::bigint as rung_id, ''::text as order_key from history
union all
select m.id, r.queue_id, 'waiting', m.accepted_at, 0, m.level, m.attempts, 0, m.rung_id, m.order_key
  from message m join rung r on r.id = m.rung_id;
create index on public.plain (queue_id, id);
"""
FILL_SQLITE = """
begin;
create temp table number as
with recursive r(n) as (select 1 union all select n + 1 from r where n < {messages}) select n from r;
insert into message (id, rung_id, place, due, level, accepted_at, expires_at, headers, body)
select ((t - {epoch}) << 22) | (n % 512 << 13) | 7, (select min(id) from rung) + pick(n), t, t, 0, t, 4611686018427387904, x'', zeroblob(200)
  from (select n, {start} + n * {span} / {messages} as t from number);
insert into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
select ((t - {epoch}) << 22) | (n % 512 << 13) | 9, {first} + pick(n + 7), 'delivered', t, t + 50, 0, 1, 12
  from (select n, {start} + n * {span} / {messages} as t from number);
commit;
create table plain as
select {columns}, 0 as rung_id, '' as order_key from history
union all
select m.id, r.queue_id, 'waiting', m.accepted_at, 0, m.level, m.attempts, 0, m.rung_id, m.order_key
  from message m join rung r on r.id = m.rung_id;
create index plain_queue on plain (queue_id, id);
"""
SELECT = """
select p.id, q.tenant, q.name, p.state, (select h.because from {schema}hold h where h.rung_id = p.rung_id),
       p.accepted_at, p.finished_at, p.level, p.attempts, p.order_key,
       (select a.error from {schema}attempt a where a.message_id = p.id order by a.number desc limit 1)
  from {table} p join {schema}queue q on q.id = p.queue_id
 where q.tenant = 'default' and q.name = {v}1 and p.id >= {v}2 and p.id < {v}3 order by p.id desc limit {v}4
"""
"""The same rows with what a list shows of them, from a table with an index for this alone."""
Clock = Callable[[], float]
"""CPU seconds so far."""
Ask = Callable[[int, int, int], Awaitable[object]]
"""Asks for a page of a queue (its place from 0) between two times."""


def watch(folder: Path, seconds: float, say: Say) -> Seen:
    """Both stores, one after the other."""
    figures = {
        "sqlite": uvloop.run(_sqlite(folder, seconds / 2, say)),
        "postgres": uvloop.run(_postgres(seconds / 2, say)),
    }
    worst = max(each["times"] for each in figures.values())
    return Seen(
        ours={store: each["page_us"] for store, each in figures.items()},
        peers={f"a select on {store}": each["select_us"] for store, each in figures.items()},
        limit={"messages": 2 * MESSAGES, "queues": QUEUES, "page": PAGE},
        reached={"counts-agree": 1.0, "5-selects-over-a-page": TIMES_MAX / worst},
    )


async def _sqlite(folder: Path, seconds: float, say: Say) -> dict[str, float]:
    path = folder / "lists.db"
    road = Postroad(f"sqlite:///{path}", settings=Settings(log_level="error"))
    async with road:
        first = await _queues(road)
    raw = apsw.Connection(str(path))
    rng = Random(1)
    drawn = [int(QUEUES * rng.random() ** 3) for _ in range(9_973)]

    def pick(*given: object) -> int:
        (number,) = given
        return drawn[int(str(number)) % len(drawn)]

    raw.create_scalar_function("pick", pick)
    start_ms = _start_ms()
    raw.execute(_filled(FILL_SQLITE, first, start_ms))
    raw.close()
    say("SQLite is filled")
    async with road:
        reading = apsw.Connection(str(path))

        async def select(queue: int, since_ms: int, until_ms: int) -> object:
            span = (first_after(since_ms), first_after(until_ms))
            sql = SELECT.format(table="plain", schema="", v="?")
            return reading.execute(sql, (NAMES.format(queue), *span, PAGE)).fetchall()

        while await road.store.list_index(start=True) is not None:
            pass
        say("its index is built")
        return await _compare(road, select, time.process_time, start_ms, seconds)


async def _postgres(seconds: float, say: Say) -> dict[str, float]:
    server = start_server()
    road = Postroad(server.create_road(), settings=Settings(log_level="error"))
    try:
        async with road:
            first = await _queues(road)
            raw = await asyncpg.connect(road.dsn, statement_cache_size=100)
            start_ms = _start_ms()
            await raw.execute(_filled(FILL_POSTGRES, first, start_ms))
            for table in ("public.plain", "postroad.message", "postroad.history_batch"):
                await raw.execute(f"vacuum analyze {table}")
            say("PostgreSQL is filled")
            sql = SELECT.format(table="public.plain", schema="postroad.", v="$")
            prepared = await raw.prepare(sql)

            async def select(queue: int, since_ms: int, until_ms: int) -> object:
                span = (first_after(since_ms), first_after(until_ms))
                return await prepared.fetch(NAMES.format(queue), *span, PAGE)

            _ = await road.messages.list(limit=1)  # its connection is open
            pids = await raw.fetch(
                "select pid from pg_stat_activity where datname = current_database()"
            )

            def clock() -> float:
                return time.process_time() + sum(cpu_s(row["pid"]) for row in pids)

            return await _compare(road, select, clock, start_ms, seconds)
    finally:
        server.close()


async def _queues(road: Postroad) -> int:
    """Make the queues, each with a lane and a rung; returns the number of the first."""
    specs = [
        QueueSpec("default", NAMES.format(n), LaneKey("webhook", f"s{n}"), 1, Policy())
        for n in range(QUEUES)
    ]
    queues = await road.store.open_queues(specs)
    at_ms = _start_ms() - DAY_MS
    ids = IdSequence(1)
    sends = [(Send(queue.name, 1), queue, ids.next(at_ms)) for queue in queues]
    drafts = [draft(*each, at_ms, BODY_BYTES_MAX) for each in sends]
    _ = await road.store.accept(drafts)  # their rungs are made
    return queues[0].id


async def _compare(
    road: Postroad, select: Ask, clock: Clock, start_ms: int, seconds: float
) -> dict[str, float]:
    """Pages and selects in turn, of the same queues and days; CPU for each."""

    async def page(queue: int, since_ms: int, until_ms: int) -> object:
        since, until = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (since_ms, until_ms))
        return await road.messages.list(
            queue=NAMES.format(queue), since=since, until=until, limit=PAGE
        )

    rng = Random(2)
    spent = {"page": 0.0, "select": 0.0}
    done = 0
    ends = time.monotonic() + seconds
    while done == 0 or time.monotonic() < ends:
        asked = []
        for _ in range(PAGES):
            since_ms = start_ms + int(rng.random() * (DAYS - 1) * DAY_MS)
            asked.append((int(QUEUES * rng.random() ** 3), since_ms, since_ms + DAY_MS))
        for name, ask in (("page", page), ("select", select)):
            for one in asked[:5]:
                await ask(*one)
            before = clock()
            for one in asked:
                await ask(*one)
            spent[name] += clock() - before
        done += PAGES
        await asyncio.sleep(0)
    each = {f"{name}_us": took / done * 1e6 for name, took in spent.items()}
    return {**each, "times": spent["page"] / spent["select"], "pages": done}


def _start_ms() -> int:
    return int((datetime.now(UTC) - timedelta(days=DAYS)).timestamp()) * 1000


def _filled(sql: str, first: int, start_ms: int) -> str:
    return sql.format(
        epoch=EPOCH_MS,
        queues=QUEUES,
        start=start_ms,
        span=DAYS * DAY_MS,
        messages=MESSAGES,
        day=DAY_MS,
        days=DAYS,
        first=first,
        mixed=MIXED,
        columns=COLUMNS,
    )


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
