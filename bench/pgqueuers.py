"""Peer: pgqueuer, batch enqueue and then its queue manager in drain mode, with a no-op; over one
connection or over a pool."""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import asyncpg
import uvloop
from pgqueuer import QueueManager
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver, Driver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

from bench.databases import database, durability, note
from bench.pg_roads import PADDING
from bench.shape import Durability, Taken

FILL_SHARE = 0.3
WARM = 100
TASK = "no_op"
COUNTS = """
select (select count(*) from pgqueuer),
       (select count(*) from pgqueuer_log where status = 'successful')
"""


@asynccontextmanager
async def driven(dsn: str, pool: int) -> AsyncIterator[Driver]:
    """Over one connection, as its documentation does it, or over a pool of so many."""
    if pool:
        async with asyncpg.create_pool(dsn, min_size=pool, max_size=pool) as connections:
            yield AsyncpgPoolDriver(connections)
        return
    connection = await asyncpg.connect(dsn)
    try:
        yield AsyncpgDriver(connection)
    finally:
        if not connection.is_closed():
            await connection.close()


class Peer:
    """Enqueues, and drains."""

    def __init__(self, driver: Driver) -> None:
        self.queries = Queries(driver)
        self.sent = 0
        self.arrived: list[int] = []

    async def enqueue(self, count: int) -> None:
        """The next ones, in one call."""
        first, self.sent = self.sent, self.sent + count
        bodies = [f'{{"n":{n},"text":"{PADDING}"}}'.encode() for n in range(first, first + count)]
        await self.queries.enqueue([TASK] * count, list(bodies), [0] * count)

    async def drain(self, batch: int) -> None:
        """Execute all that waits."""
        manager = QueueManager(self.queries)

        @manager.entrypoint(TASK)
        async def no_op(job: Job) -> None:
            packed = job.payload or b""
            self.arrived.append(int(packed[5 : packed.index(b",")]))

        await manager.run(
            dequeue_timeout=timedelta(seconds=1),
            batch_size=batch,
            mode=QueueExecutionMode.drain,
        )


def run(
    _folder: Path, seconds: float, *, server: str, batch: int, enqueue: int, pool: int = 0
) -> list[Taken]:
    """Fill for a while by so many a call, then drain by so many a batch."""
    logging.disable(logging.CRITICAL)
    return uvloop.run(_run(seconds, server, batch, enqueue, pool))


async def _run(seconds: float, server: str, batch: int, enqueue: int, pool: int) -> list[Taken]:
    async with database(server) as dsn:
        other = await asyncpg.connect(dsn)
        async with driven(dsn, pool) as driver:
            peer = Peer(driver)
            await peer.queries.install()
            await peer.enqueue(WARM)
            start_s, start_cpu_s = time.perf_counter(), time.process_time()
            while time.perf_counter() < start_s + seconds * FILL_SHARE:
                await peer.enqueue(enqueue)
            fill_s, fill_cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
            # With fresh statistics; ours brings its own.
            await other.execute("analyze pgqueuer")
            start_s, start_cpu_s = time.perf_counter(), time.process_time()
            await peer.drain(batch)
            took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
        waiting, done = await other.fetchrow(COUNTS) or (0, 0)
        received = len(peer.arrived) - 2 * (len(peer.arrived) - len(set(peer.arrived)))
        promised = await _promised(dsn, other, batch)
        await other.close()
    counts = (peer.sent, done - waiting, received)
    name = "pgqueuer-pool" if pool else "pgqueuer"
    return [
        Taken("pgqueuer-enqueue", *counts, peer.sent - WARM, fill_s, fill_cpu_s, *promised),
        Taken(name, *counts, peer.sent, took_s, cpu_s, *promised),
    ]


async def _promised(
    dsn: str, other: "asyncpg.Connection[asyncpg.Record]", batch: int
) -> tuple[Durability, int]:
    await note(other, "pgqueuer", "pgqueuer_log")
    async with driven(dsn, 0) as driver:
        peer = Peer(driver)
        await peer.enqueue(1)
        await peer.drain(batch)
    return await durability(other)
