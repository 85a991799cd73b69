"""Ours: a road in this process, as a program would use it."""

import asyncio
import time
from pathlib import Path

import uvloop

from bench.shape import Durability, RunFailed, Taken
from bench.sink import BATCH, Sink, delivered_in
from bench.witness import Witness
from postroad import Postroad
from postroad.transports.handler import Job

QUEUE = "no-op"
CALLERS = 64
TURNS = 4
"""Sequential and concurrent sends take turns on one file so many times."""


def deliver(folder: Path, seconds: float) -> list[Taken]:
    """End to end with no-op async handlers; recording is as durable as accepting."""
    witness = Witness(always_full=True)
    return [uvloop.run(_deliver("engine", folder / "road.db", seconds, witness))]


def deliver_as_shipped(folder: Path, seconds: float) -> list[Taken]:
    """The same, and results are recorded with synchronous=NORMAL: the default."""
    return [uvloop.run(_deliver("engine-as-shipped", folder / "road.db", seconds, Witness()))]


async def _deliver(name: str, path: Path, seconds: float, witness: Witness) -> Taken:
    road, sink = Postroad(f"sqlite:///{path}"), Sink([QUEUE])
    _handle(road, sink)
    async with road:
        timed, took_s, cpu_s = await deliver_for(road, sink, seconds)
        durability = await probe(road, sink, witness)
    delivered, waiting = delivered_in(path)
    return Taken(
        name=name,
        accepted=sink.accepted,
        recorded=delivered - waiting,
        received=sink.distinct,
        timed=timed,
        seconds=took_s,
        cpu_s=cpu_s,
        durability=durability,
        recording=witness.recording,
    )


def _handle(road: Postroad, sink: Sink) -> None:
    @road.handler(QUEUE)
    async def no_op(message: Job) -> None:
        sink.take(message.body)


async def deliver_for(road: Postroad, sink: Sink, seconds: float) -> tuple[int, float, float]:
    """Send for so long, wait until all is recorded: messages, seconds, processor seconds."""
    delivery = asyncio.create_task(road.run())
    await sink.send_many(road, BATCH)
    await _arrived(sink, delivery)  # warm
    start_s, start_cpu_s, warm = time.perf_counter(), time.process_time(), sink.accepted
    await sink.send_until(road, start_s + seconds)
    await _arrived(sink, delivery)
    road.stop()
    await delivery  # returns when all is recorded
    took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    return sink.accepted - warm, took_s, cpu_s


async def _arrived(sink: Sink, delivery: "asyncio.Task[None]") -> None:
    """All that was accepted is received; or the engine broke, and it never will be."""
    all_in = asyncio.create_task(sink.has_all())
    await asyncio.wait((all_in, delivery), return_when=asyncio.FIRST_COMPLETED)
    if not all_in.done():
        all_in.cancel()
        await delivery
        raise RunFailed(f"the engine ended with {sink.accepted - len(sink.received)} on their way")


async def probe(road: Postroad, sink: Sink, witness: Witness) -> Durability:
    """One more message, while the connections are watched."""
    witness.watch()
    await sink.send_many(road, 1)
    await road.run(until_idle=True)
    return witness.durability()


def send(folder: Path, seconds: float) -> list[Taken]:
    """`send` alone on one file, nothing delivered meanwhile: one caller, and 64, in turns."""
    return uvloop.run(_send(folder / "road.db", seconds, Witness()))


async def _send(path: Path, seconds: float, witness: Witness) -> list[Taken]:
    road, sink = Postroad(f"sqlite:///{path}"), Sink([QUEUE])
    _handle(road, sink)
    counts = {1: 0, CALLERS: 0}
    took_s, cpu_s = dict.fromkeys(counts, 0.0), dict.fromkeys(counts, 0.0)
    async with road:
        await sink.send_many(road, BATCH)  # warm
        for callers in TURNS * [*counts]:
            start_s, start_cpu_s, before = time.perf_counter(), time.process_time(), sink.accepted
            await _send_until(road, sink, callers, start_s + seconds / TURNS / 2)
            took_s[callers] += time.perf_counter() - start_s
            cpu_s[callers] += time.process_time() - start_cpu_s
            counts[callers] += sink.accepted - before
        durability = await probe(road, sink, witness)
    delivered, waiting = delivered_in(path)
    if not sink.accepted == delivered == sink.distinct or waiting:
        raise RunFailed(f"{sink.accepted} accepted, {delivered} recorded, {sink.distinct} received")
    names = {1: "send-sequential", CALLERS: f"send-{CALLERS}"}
    # One file holds both, so its counts, which agree, are split by what was timed.
    return [
        Taken(
            name=names[callers],
            accepted=count,
            recorded=count,
            received=count,
            timed=count,
            seconds=took_s[callers],
            cpu_s=cpu_s[callers],
            durability=durability,
            recording=witness.recording,
        )
        for callers, count in counts.items()
    ]


async def _send_until(road: Postroad, sink: Sink, callers: int, end_s: float) -> None:
    async def caller() -> None:
        while time.perf_counter() < end_s:
            number = sink.accepted
            sink.accepted += 1
            await road.send(QUEUE, number)

    await asyncio.gather(*[caller() for _ in range(callers)])
