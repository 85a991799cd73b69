"""What a claim costs: beside many blocked messages, and while an old transaction is open."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import asyncpg
import msgspec
from msgspec import Struct

from postroad import Postroad
from postroad.model.limits import Limits
from postroad.stores.postgres.connections import QUERIES
from tests.fleet.loads import Doors, door, open_doors, road_of, send_round

LEVELS = list(range(7))
TOUCHED = """
select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::bigint
  from pg_class c where c.relnamespace = 'postroad'::regnamespace and c.relkind in ('r', 'i')
"""
TIDY = "vacuum analyze " + ", ".join(
    f"postroad.{table}" for table in ("lane", "lane_level", "rung", "message", "process")
)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class Cost(Struct, frozen=True):
    """One claim, as EXPLAIN (ANALYZE, BUFFERS) and the server's own counts say."""

    rows: int
    """That were read, in tables and indexes."""
    buffers: int
    lanes: int


def cost_of_claim(dsn: str, queues: int, messages: int) -> Cost:
    """The cost of a claim among so many queues, half of them blocked with so many messages."""
    return asyncio.run(_cost_of_claim(dsn, queues, messages))


async def _cost_of_claim(dsn: str, queues: int, messages: int) -> Cost:
    healthy = [door(n) for n in range(queues // 2)]
    full = [door(n, full=True) for n in range(queues // 2)]
    doors = Doors()
    async with road_of(dsn, doors) as road:
        await open_doors(road, doors, healthy + full)
        await send_round(road, full, len(full))
        await _run_until(road, lambda: doors.answered(len(full)))
        await send_round(road, full, max(0, messages - len(full)))
        await send_round(road, healthy, len(healthy))
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(TIDY)
        await _claim_once(connection)  # plans are made
        await connection.execute(TIDY)
        return await _claim_once(connection)
    finally:
        await connection.close()


async def _run_until(road: Postroad, reached: Callable[[], Awaitable[None]]) -> None:
    running = asyncio.create_task(road.run())
    await reached()
    road.stop()
    await running


async def _claim_once(connection: Connection) -> Cost:
    """A claim that is undone."""
    owner = await connection.fetchval("select max(id) from postroad.process") or 1
    floors = [0] * len(LEVELS)
    who = (owner, 0, 0, "here", os.getpid())
    values = (*who, LEVELS, floors, ["door"], Limits().claim_batch, list[str](), "")
    statement = f"explain (analyze, buffers, format json) {QUERIES['claim']}"
    undo = connection.transaction()
    await undo.start()
    try:
        before = await connection.fetchval(TOUCHED)
        told = msgspec.json.decode(await connection.fetchval(statement, *values))
        rows = await connection.fetchval(TOUCHED) - before
        lanes = await connection.fetchval(
            "select count(*) from postroad.lane where owner = $1", owner
        )
    finally:
        await undo.rollback()
    plan: dict[str, Any] = told[0]["Plan"]
    buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return Cost(rows, buffers, lanes)


# A transaction that is held open elsewhere

SPENT = """
select sum(calls), sum(total_exec_time), sum(shared_blks_hit + shared_blks_read)
  from pg_stat_statements s join pg_database d on d.oid = s.dbid
 where d.datname = current_database() and s.query like '%postroad.claim(%'
"""
RESET = """
select pg_stat_statements_reset(0, oid, 0) from pg_database where datname = current_database()
"""


class Spent(Struct, frozen=True):
    """Claims of one database over some time."""

    claims: int
    ms_each: float
    buffers_each: float


class Trickle(Struct, frozen=True):
    """Lanes that wake for one message, again and again, beside some that never sleep."""

    lanes: int = 200
    hot: int = 10
    period_s: float = 4.0
    """Longer than a lane lingers: every message costs a claim."""
    hot_each_s: int = 20


def spent_beside_a_pin(
    free: str, pinned: str, seconds: float, load: Trickle
) -> tuple[Spent, Spent]:
    """The same load on two databases at the same time, in one of which a transaction stays open:
    what claims cost in the last third of the time, without and with it."""
    return asyncio.run(_beside_a_pin(free, pinned, seconds, load))


async def _beside_a_pin(
    free: str, pinned: str, seconds: float, load: Trickle
) -> tuple[Spent, Spent]:
    async with road_of(free, Doors()), road_of(pinned, Doors()):
        pass  # makes the tables
    pin = await asyncpg.connect(pinned)
    held = pin.transaction(isolation="repeatable_read")
    await held.start()
    await pin.execute("select count(*) from postroad.lane")
    try:
        return await asyncio.gather(_trickle(free, seconds, load), _trickle(pinned, seconds, load))
    finally:
        await held.rollback()
        await pin.close()


async def _trickle(dsn: str, seconds: float, load: Trickle) -> Spent:
    doors = Doors()
    names = [door(n) for n in range(load.lanes)]
    hot = [door(load.lanes + n) for n in range(load.hot)]
    probe = await asyncpg.connect(dsn)
    async with road_of(dsn, doors) as road:
        await open_doors(road, doors, names + hot)
        running = asyncio.create_task(road.run())
        start_s = time.monotonic()
        sending = [
            asyncio.create_task(_keep_sending(road, names, load.period_s / load.lanes, 1)),
            asyncio.create_task(_keep_sending(road, hot, 1.0, load.hot_each_s)),
        ]
        await asyncio.sleep(seconds * 2 / 3)
        await probe.execute(RESET)
        await asyncio.sleep(max(0.0, seconds - (time.monotonic() - start_s)))
        calls, total_ms, buffers = await probe.fetchrow(SPENT) or (0, 0, 0)
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)
        road.stop()
        await running
    await probe.close()
    return Spent(int(calls), total_ms / float(calls), float(buffers / calls))


async def _keep_sending(road: Postroad, names: list[str], every_s: float, each: int) -> None:
    """One door after the other (`each` 1), or all of them with several messages each time."""
    turn = 0
    next_s = time.monotonic()
    while True:
        chosen = [names[turn % len(names)]] if each == 1 else names * each
        await road.send_many([(name, turn) for name in chosen])
        turn += 1
        next_s += every_s
        await asyncio.sleep(max(0.0, next_s - time.monotonic()))
