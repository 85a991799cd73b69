"""idle: what idle processes send in an hour, a worker alone, a whole `postroad up` and one of two processes,
and how late the worker is when something falls due."""

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import uvloop
from msgspec import Struct

from bench.crew import Crew
from bench.databases import start_server
from bench.pg_roads import body
from bench.pg_worker import QUEUE
from bench.shape import Say, Seen
from bench.whole_server import WholeServer
from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.limits import Limits
from postroad.stores.postgres.connections import read_address
from postroad.stores.postgres.migration import migrate

NAME = "idle"
SECONDS = 720.0
"""Whole rounds of the safety poll (90 s), one of the hub's sweep (600 s), and more than the five
minutes that are asked for. What is done less often (six an hour: campaigns, sweep, retention) comes
into `SECONDS=3600`, and into the hour of tests/postgres/test_idle.py."""
HOUR_S = 3_600.0
STATEMENTS_MAX = 60.0
LATENESS_MAX_MS = 250.0
FLEET = 2
BESIDE = {"the level table of seed 001": 889, "a poll every half second": 7_200}
EVERY_S = 0.1
DUE_S_MAX = 40.0
"""Messages fall due for so long, or for half of the time, one about every tenth of a second."""
RESET = """
select pg_stat_statements_reset(0, oid, 0) from pg_database where datname = '{}'
"""
SENT = """
select sum(calls)::bigint from pg_stat_statements s join pg_database d on d.oid = s.dbid
 where d.datname = $1
"""
WHAT = """
select calls, left(regexp_replace(query, '\\s+', ' ', 'g'), 70) from pg_stat_statements s
  join pg_database d on d.oid = s.dbid where d.datname = $1 order by calls desc, query
"""
WORKING = "select count(*) from postroad.process"
OVER = """
select exists (select from postroad.history)
   and not exists (select from postroad.lane where owner is not null)
"""


def watch(folder: Path, seconds: float, say: Say) -> Seen:
    """One worker process, one whole server and one of two processes in peace for so long, then the
    worker with messages that fall due."""
    server = start_server()
    try:
        databases = Databases(*[server.create_database() for _ in range(4)])
        return uvloop.run(_watch(databases, folder, seconds, say))
    finally:
        server.close()


class Databases(Struct, frozen=True):
    """The worker's, the whole server's, that of two processes, and that of whoever counts: what it asks
    itself is not counted."""

    worker: str
    whole: str
    fleet: str
    beside: str

    @property
    def counted(self) -> dict[str, str]:
        """Their names, and whose they are."""
        whose = {
            self.worker: "a worker",
            self.whole: "postroad up",
            self.fleet: f"postroad up, {FLEET} processes",
        }
        return {urlsplit(dsn).path.removeprefix("/"): text for dsn, text in whose.items()}


async def _watch(databases: Databases, folder: Path, seconds: float, say: Say) -> Seen:
    dsn = databases.worker
    crew = await Crew.start(dsn, folder, 1)
    (worker,) = crew.workers
    counting = asyncio.ensure_future(worker.count(asyncio.Event()))
    witness = await asyncpg.connect(databases.beside)
    servers: list[WholeServer] = []
    try:
        for number, each in ((1, databases.whole), (FLEET, databases.fleet)):
            await migrate(read_address(each))
            servers.append(await WholeServer.start(each, folder, number))
        await _until(databases.fleet, f"{WORKING} having count(*) = {FLEET}")
        worker.tell("go")
        await _settle(dsn, seconds, say)
        statements = await _count(witness, databases.counted, seconds, say)
        for server in servers:
            await server.stop()
        due_ms = await _fall_due(dsn, min(DUE_S_MAX, seconds / 2))
        worker.tell("stop")
        await counting
        numbers, moments_us = await worker.end()
        recorded = await _recorded(dsn)
    finally:
        await witness.close()
        crew.kill()
        for server in servers:
            server.kill()
    arrived = {n: us / 1000 for n, us in zip(numbers, moments_us, strict=True) if n >= 0}
    late_ms = sorted(arrived[n] - at_ms for n, at_ms in due_ms.items() if n in arrived)
    per_hour = [sent * HOUR_S / seconds for sent in statements]
    return _seen(per_hour, late_ms, len(due_ms), (len(numbers), recorded))


async def _settle(dsn: str, seconds: float, say: Say) -> None:
    """One message is delivered, its lane is given back, and no lease is watched any more."""
    async with _sender(dsn) as road:
        await road.send(QUEUE, body(-1))
    await _until(dsn, OVER)
    rest_s = min(seconds, Limits().beat_ms / 1000 + 2)
    say(f"the worker owns nothing; counting begins in {rest_s:.0f} s and takes {seconds:.0f} s")
    await asyncio.sleep(rest_s)


async def _until(dsn: str, query: str) -> None:
    """Wait until it answers something that is so."""
    connection = await asyncpg.connect(dsn)
    while not await connection.fetchval(query):
        await asyncio.sleep(0.1)
    await connection.close()


def _sender(dsn: str) -> Postroad:
    return Postroad(dsn, settings=Settings(log_level="warning"))


async def _count(
    witness: "asyncpg.Connection[asyncpg.Record]",
    databases: dict[str, str],
    seconds: float,
    say: Say,
) -> list[int]:
    """Everything that reached each database, from whichever connection."""
    for database in databases:
        await witness.execute(RESET.format(database))
    await asyncio.sleep(seconds)
    found = [int(await witness.fetchval(SENT, database) or 0) for database in databases]
    for database, whose in databases.items():
        say(f"{whose}:")
        for calls, query in await witness.fetch(WHAT, database):
            say(f"{calls:>4} × {query}")
    return found


async def _fall_due(dsn: str, seconds: float) -> dict[int, float]:
    """Messages with a time of delivery, sent beforehand from another process; returns when the
    last one is a second overdue."""
    dice = random.Random(0)
    start = datetime.now(UTC) + timedelta(seconds=1)
    moments = [
        start + timedelta(seconds=EVERY_S * (n + dice.random()))
        for n in range(int(seconds / EVERY_S))
    ]
    async with _sender(dsn) as road:
        await road.send_many(
            [Send(QUEUE, body(n), deliver_at=moment) for n, moment in enumerate(moments)]
        )
        await asyncio.sleep(max(0.0, moments[-1].timestamp() - time.time()) + 1)
    return {n: moment.timestamp() * 1000 for n, moment in enumerate(moments)}


async def _recorded(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval("select count(*) from postroad.history"))
    finally:
        await connection.close()


def _seen(per_hour: list[float], late_ms: list[float], due: int, counts: tuple[int, int]) -> Seen:
    worker, up, fleet = per_hour
    each = fleet / FLEET
    p99_ms = late_ms[int(len(late_ms) * 0.99)] if late_ms else float("inf")
    agree = counts == (due + 1, due + 1) and len(late_ms) == due
    lateness = {
        "messages": len(late_ms),
        "median_ms": round(late_ms[len(late_ms) // 2], 1) if late_ms else None,
        "p99_ms": round(p99_ms, 1),
        "most_ms": round(late_ms[-1], 1) if late_ms else None,
        "early": sum(late < -1 for late in late_ms),
    }
    return Seen(
        ours={
            "statements_per_hour": round(worker, 1),
            "up_statements_per_hour": round(up, 1),
            "each_of_two_statements_per_hour": round(each, 1),
            "lateness": lateness,
        },
        peers={"statements_per_hour": BESIDE},
        limit={"statements_per_hour": STATEMENTS_MAX, "p99_ms": LATENESS_MAX_MS},
        reached={
            "60-over-idle-each-of-two-statements-an-hour": STATEMENTS_MAX / max(each, 1.0),
            "counts-agree": float(agree),
            "60-over-statements-an-hour": STATEMENTS_MAX / max(worker, 1.0),
            "60-over-idle-up-statements-an-hour": STATEMENTS_MAX / max(up, 1.0),
            "250-ms-over-p99-lateness": LATENESS_MAX_MS / max(p99_ms, 1.0),
        },
    )
