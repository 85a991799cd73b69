"""Ours on PostgreSQL: `send_many` fills a database, workers in processes of their own drain it."""

import asyncio
import time
from pathlib import Path

import asyncpg
import uvloop

from bench.crew import Crew
from bench.databases import database, durability, note, wait_when_recording
from bench.pg_worker import QUEUE
from bench.shape import Durability, Taken
from postroad import Postroad
from postroad.config import Settings
from postroad.transports.handler import Job

FILL_SHARE = 0.3
"""Of a run's time: sending is faster than draining."""
PADDING = "x" * 180
WARM = 100
BUSY_A_SECOND = 15_000
"""Messages for each second of a run by which two processes are compared with one, with handlers that
compute for 100 µs. Two processes that start together need a third of a second to share the lanes, so
the drain must last much longer than that."""
COUNTS = """
select (select count(*) from postroad.history where state = 'delivered'),
       (select count(*) from postroad.message)
"""


def body(number: int) -> dict[str, object]:
    """Some 200 bytes as JSON."""
    return {"n": number, "text": PADDING}


class Filler:
    """Sends numbered messages, so many in one call, so many calls at once."""

    def __init__(self, road: Postroad, batch: int) -> None:
        self._road = road
        self._batch = batch
        self.sent = 0

    async def send(self, count: int) -> None:
        """The next ones, in one call."""
        first, self.sent = self.sent, self.sent + count
        await self._road.send_many([(QUEUE, body(n)) for n in range(first, first + count)])

    async def until(self, end_s: float, callers: int) -> None:
        """Go on until a time."""

        async def caller() -> None:
            while time.perf_counter() < end_s:
                await self.send(self._batch)

        await asyncio.gather(*[caller() for _ in range(callers)])


def drain(
    folder: Path,
    seconds: float,
    *,
    server: str,
    workers: int,
    recording: str,
    batch: int,
    callers: int,
) -> list[Taken]:
    """Fill for a while, then drain. `recording` "on": results wait for the disk, as accepting
    does; "off": as shipped."""
    return uvloop.run(_drain(folder, seconds, server, workers, recording, batch, callers))


def drain_busy(
    folder: Path, seconds: float, *, server: str, workers: int, busy_us: int, least: int = 200
) -> list[Taken]:
    """Drain messages whose handlers compute for a while, so many that the start does not matter."""
    count = max(least, int(seconds * BUSY_A_SECOND))
    return uvloop.run(_drain_busy(folder, count, server, workers, busy_us))


def drain_batch(folder: Path, count: int, *, server: str, workers: int) -> list[Taken]:
    """Drain so many members of one batch, with no-ops."""
    return uvloop.run(_drain_busy(folder, count, server, workers, 0, in_batch=True))


async def _drain(
    folder: Path,
    seconds: float,
    server: str,
    workers: int,
    recording: str,
    batch: int,
    callers: int,
) -> list[Taken]:
    async with database(server) as dsn:
        road = _road(dsn)
        async with road:
            connection = await asyncpg.connect(dsn)
            if recording == "on":
                await wait_when_recording(connection)
            filler = Filler(road, batch)
            await filler.send(WARM)
            start_s, start_cpu_s = time.perf_counter(), time.process_time()
            await filler.until(start_s + seconds * FILL_SHARE, callers)
            fill_s, fill_cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
            crew = await Crew.start(dsn, folder, workers)
            try:
                took_s = await crew.drain(filler.sent)
                arrived = [number for worker in crew.workers for number in (await worker.end())[0]]
            finally:
                crew.kill()
            delivered, waiting = await connection.fetchrow(COUNTS) or (0, 0)
            promised = await _promised(road, connection)
        await connection.close()
    received = len(arrived) - 2 * (len(arrived) - len(set(arrived)))
    counts = (filler.sent, delivered - waiting, received)
    cpu_s = sum(worker.cpu_s for worker in crew.workers)
    names = {(1, "on"): "engine", (1, "off"): "engine-as-shipped"}
    name = names.get((workers, recording), f"engine-{workers}-processes")
    return [
        Taken("send-many", *counts, filler.sent - WARM, fill_s, fill_cpu_s, *promised),
        Taken(name, *counts, filler.sent, took_s, cpu_s, *promised),
    ]


async def _drain_busy(
    folder: Path,
    count: int,
    server: str,
    workers: int,
    busy_us: int,
    *,
    in_batch: bool = False,
) -> list[Taken]:
    async with database(server) as dsn:
        road = _road(dsn)
        async with road:
            connection = await asyncpg.connect(dsn)
            await (_send_batch if in_batch else _send_plain)(road, count)
            crew = await Crew.start(dsn, folder, workers, busy_us)
            try:
                took_s = await crew.drain(count)
                arrived = [number for worker in crew.workers for number in (await worker.end())[0]]
            finally:
                crew.kill()
            delivered, waiting = await connection.fetchrow(COUNTS) or (0, 0)
            promised = await _promised(road, connection)
        await connection.close()
    cpu_s = sum(worker.cpu_s for worker in crew.workers)
    counts = (count, delivered - waiting, 2 * len(set(arrived)) - len(arrived))
    name = f"{workers}-busy-process{'es' if workers > 1 else ''}"
    return [Taken(name, *counts, count, took_s, cpu_s, *promised)]


async def _send_plain(road: Postroad, count: int) -> None:
    filler = Filler(road, 1_000)
    while filler.sent < count:
        await filler.send(min(1_000, count - filler.sent))


async def _send_batch(road: Postroad, count: int) -> None:
    await road.batch([(QUEUE, body(n)) for n in range(count)])


def _road(dsn: str) -> Postroad:
    road = Postroad(dsn, settings=Settings(log_level="warning"))

    @road.handler(QUEUE)
    async def no_op(message: Job) -> None:
        """Only for the last message, which shows how it is written."""

    return road


async def _promised(
    road: Postroad, connection: "asyncpg.Connection[asyncpg.Record]"
) -> tuple[Durability, int]:
    await note(connection, "postroad.message", "postroad.history_batch")
    await road.send(QUEUE, body(-1))
    await road.run(until_idle=True)
    return await durability(connection)
