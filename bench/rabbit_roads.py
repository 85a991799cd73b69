"""Ours on RabbitMQ: many callers await their `send`; a worker receives, handles and acks."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import msgspec
import uvloop

from bench.brokers import WARM, Arrivals, body, durability, emptied
from bench.shape import NO_STORE, Durability, Taken
from postroad import Postroad
from postroad.config import Settings
from postroad.stores.rabbitmq.topology.topology import Topology, handler_target
from postroad.transports.handler import Job

PREFIX = "bench"
QUEUE = "no-op"
A_SECOND = 5_000
FILLING = 500
TICK_S = 0.001
DONE = "select count(*) from history where state = 'delivered'"


def send(folder: Path, seconds: float, *, server: str, awaiting: str) -> list[Taken]:
    """Send with each number of callers awaiting in turn, a share of the time each."""
    callers = [int(each) for each in awaiting.split(",")]
    return uvloop.run(_send(folder, seconds / len(callers), server, callers))


async def _send(folder: Path, each_s: float, server: str, callers: list[int]) -> list[Taken]:
    fills: dict[int, tuple[int, float, float]] = {}
    async with _road(server, folder / "state.db", Arrivals()) as road:
        sender = Sender(road)
        for awaiting in callers:
            await sender.some(WARM, awaiting)
            before, start_cpu_s, start_s = sender.sent, time.process_time(), time.perf_counter()
            await sender.until(start_s + each_s, awaiting)
            took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
            fills[awaiting] = (sender.sent - before, took_s, cpu_s)
    promised = await _promised(server)
    found = await emptied(server, _line(), sender.sent)
    numbers = {msgspec.json.decode(each.body)["n"] for each in found}
    counts = (sender.sent, len(found), len(numbers))
    return [Taken(f"send-{n}-awaiting", *counts, *fills[n], promised) for n in callers]


def receive(folder: Path, seconds: float, *, server: str) -> list[Taken]:
    """Drain what it gets through in about that time."""
    return uvloop.run(_receive(folder, max(200, int(seconds * A_SECOND)), server))


async def _receive(folder: Path, count: int, server: str) -> list[Taken]:
    arrivals, state = Arrivals(), folder / "state.db"
    async with _road(server, state, arrivals) as road:
        await Sender(road).some(count, FILLING)
        start_cpu_s = time.process_time()
        serving = asyncio.create_task(road.run())
        while len(arrivals.numbers) < count and not serving.done():
            await asyncio.sleep(TICK_S)
        road.stop()
        await serving  # returns when all is recorded, and acked
        cpu_s = time.process_time() - start_cpu_s
        promised = await _promised(server)
    counts = (count, _recorded(state), arrivals.once)
    return [Taken("receive", *counts, count, arrivals.seconds, cpu_s, promised)]


class Sender:
    """Numbered messages, each awaited by its caller."""

    def __init__(self, road: Postroad) -> None:
        self._road = road
        self.sent = 0

    async def one(self) -> None:
        """The next one, until it is accepted."""
        number, self.sent = self.sent, self.sent + 1
        await self._road.send(QUEUE, body(number))

    async def some(self, count: int, awaiting: int) -> None:
        """So many, with so many callers."""
        end = self.sent + count

        async def caller() -> None:
            while self.sent < end:
                await self.one()

        await asyncio.gather(*[caller() for _ in range(awaiting)])

    async def until(self, end_s: float, awaiting: int) -> None:
        """Until a time."""

        async def caller() -> None:
            while time.perf_counter() < end_s:
                await self.one()

        await asyncio.gather(*[caller() for _ in range(awaiting)])


def hand_over(folder: Path, seconds: float, *, server: str) -> list[Taken]:
    """One over the p99 of the time that `send(confirm=False)` holds its caller, at 5,000 a
    second."""
    return uvloop.run(_hand_over(folder, seconds, server))


async def _hand_over(folder: Path, seconds: float, server: str) -> list[Taken]:
    took_s: list[float] = []
    async with _road(server, folder / "state.db", Arrivals()) as road:
        await Sender(road).some(WARM, 1)
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        while (now_s := time.perf_counter() - start_s) < seconds:
            while len(took_s) < now_s * A_SECOND:
                before_s = time.perf_counter()
                await road.send(QUEUE, body(WARM + len(took_s)), confirm=False)
                took_s.append(time.perf_counter() - before_s)
            await asyncio.sleep(TICK_S)
        cpu_s = time.process_time() - start_cpu_s
        passed_s = time.perf_counter() - start_s
    found = await emptied(server, _line(), len(took_s) + WARM)
    counts = (len(took_s) + WARM, len(found), len({each.properties.message_id for each in found}))
    p99_s = sorted(took_s)[int(len(took_s) * 0.99)]
    return [
        Taken("1-over-p99-handed-over", *counts, 1, p99_s, cpu_s, NO_STORE),
        Taken("handed-over", *counts, len(took_s), passed_s, cpu_s, NO_STORE),
    ]


@asynccontextmanager
async def _road(server: str, state: Path, arrivals: Arrivals) -> AsyncIterator[Postroad]:
    dsn = f"{server}?state=sqlite:///{state}&prefix={PREFIX}"
    road = Postroad(dsn, settings=Settings(log_level="warning"))

    @road.handler(QUEUE)
    async def no_op(message: Job) -> None:
        arrivals.note(message.body["n"])

    async with road:
        yield road


def _line() -> str:
    return Topology(PREFIX).name(handler_target(QUEUE))


async def _promised(server: str) -> Durability:
    (line,) = Topology(PREFIX).consumed(handler_target(QUEUE)).broker_queues
    return await durability(server, line.name, dict(line.arguments))


def _recorded(state: Path) -> int:
    connection = apsw.Connection(str(state))
    try:
        ((count,),) = connection.execute(DONE)
        return int(count)
    finally:
        connection.close()
