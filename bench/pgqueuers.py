"""Peer: pgqueuer, batch enqueue and then its queue manager in drain mode, with a no-op."""

import logging
import time
from datetime import timedelta
from pathlib import Path

import asyncpg
import uvloop
from pgqueuer import QueueManager
from pgqueuer.db import AsyncpgDriver
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


class Peer:
    """One connection, as its documentation does it."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.queries = Queries(AsyncpgDriver(connection))
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


def run(_folder: Path, seconds: float, *, server: str, batch: int, enqueue: int) -> list[Taken]:
    """Fill for a while by so many a call, then drain by so many a batch."""
    logging.disable(logging.CRITICAL)
    return uvloop.run(_run(seconds, server, batch, enqueue))


async def _run(seconds: float, server: str, batch: int, enqueue: int) -> list[Taken]:
    async with database(server) as dsn:
        connection = await asyncpg.connect(dsn)
        peer = Peer(connection)
        await peer.queries.install()
        await peer.enqueue(WARM)
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        while time.perf_counter() < start_s + seconds * FILL_SHARE:
            await peer.enqueue(enqueue)
        fill_s, fill_cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
        # With fresh statistics; ours brings its own.
        await connection.execute("analyze pgqueuer")
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        await peer.drain(batch)
        took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
        other = await asyncpg.connect(dsn)
        waiting, done = await other.fetchrow(COUNTS) or (0, 0)
        received = len(peer.arrived) - 2 * (len(peer.arrived) - len(set(peer.arrived)))
        promised = await _promised(dsn, other, batch)
        await other.close()
        if not connection.is_closed():
            await connection.close()
    counts = (peer.sent, done - waiting, received)
    return [
        Taken("pgqueuer-enqueue", *counts, peer.sent - WARM, fill_s, fill_cpu_s, *promised),
        Taken("pgqueuer", *counts, peer.sent, took_s, cpu_s, *promised),
    ]


async def _promised(
    dsn: str, other: "asyncpg.Connection[asyncpg.Record]", batch: int
) -> tuple[Durability, int]:
    await note(other, "pgqueuer", "pgqueuer_log")
    connection = await asyncpg.connect(dsn)
    peer = Peer(connection)
    await peer.enqueue(1)
    await peer.drain(batch)
    return await durability(other)
