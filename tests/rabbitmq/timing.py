"""When messages come back out of the delay queues, by the clock."""

import asyncio
from pathlib import Path

from msgspec import Struct

from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.ladder import Exponential
from postroad.transports.handler import Job
from postroad.verbs.parts import Parts
from tests.crash.book import now_ms
from tests.rabbitmq.roads import running


class Back(Struct, frozen=True):
    """A message that came back: how long it was to wait, and how much later it came."""

    wait_ms: int
    late_ms: int


class NoJitter:
    """Draws that leave a delay as it is."""

    def random(self) -> float:
        return 0.5


def a_road(dsn: str, folder: Path) -> Postroad:
    settings = Settings(log_level="error")
    state = f"sqlite:///{folder / 'state.db'}"
    return Postroad(f"{dsn}?state={state}", settings=settings, parts=Parts(chance=NoJitter()))


async def retries(dsn: str, folder: Path, iterations: int, base_ms: int = 250) -> list[Back]:
    """One message that fails on every level: `2^n * base` each time."""
    road = a_road(dsn, folder)
    ladder = Exponential(retries=iterations, base_ms=base_ms)
    backs: list[Back] = []
    failed_ms: list[int] = []
    over = asyncio.Event()

    @road.handler("fails", ladder=ladder)
    async def fails(job: Job) -> None:
        if failed_ms:
            wait_ms = ladder.delay_ms(job.attempt - 1)
            backs.append(Back(wait_ms, now_ms() - failed_ms[-1] - wait_ms))
        if len(backs) == iterations:
            over.set()
        failed_ms.append(now_ms())
        raise RuntimeError("as ever")

    async with road, running(road):
        await road.send("fails", {})
        await over.wait()
    return backs


async def delays(dsn: str, folder: Path, waits_ms: list[int], count: int = 0) -> list[Back]:
    """Messages that are sent at once, each for a time of its own; the first so many that came, or
    all, in that order."""
    road = a_road(dsn, folder)
    backs: list[Back] = []
    over, ready = asyncio.Event(), asyncio.Event()
    sent_ms = 0

    @road.handler("waits")
    async def waits(job: Job) -> None:
        wait_ms: int = job.body["wait_ms"]
        if not ready.is_set():
            ready.set()
            return
        backs.append(Back(wait_ms, now_ms() - sent_ms - wait_ms))
        if len(backs) == (count or len(waits_ms)):
            over.set()

    async with road, running(road):
        await road.send("waits", {"wait_ms": 0})  # its queue takes a while to be made
        await ready.wait()
        sent_ms = now_ms()
        sends = [Send("waits", {"wait_ms": wait}, delay=wait / 1000) for wait in waits_ms]
        await road.send_many(list(sends))
        await over.wait()
    return backs
