"""Cancelling all of a queue beside senders and an engine: one function for the quick test and for
the proof."""

import asyncio
import time

from msgspec import Struct

from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.control import CancelledAll
from postroad.model.limits import Limits
from postroad.model.states import State

CHUNK = 1_000
LEAST_MS = 20


class Seen(Struct):
    """What came of one call, and what others noticed of it."""

    answer: CancelledAll
    broken: list[str]
    took_s: float
    steps: int
    worst_send_ms: float


async def cancel_under_traffic(dsn: str, held: int) -> Seen:
    """`held` messages wait in a paused queue; others of the same lanes are delivered, and more of
    that queue come, while it is cancelled."""
    delivered: list[str] = []
    road = Postroad(dsn, settings=Settings(log_level="error", limits=Limits(drain_s=5.0)))

    @road.handler("work")
    async def work(message: object) -> None:
        delivered.append(message.id)  # type: ignore[attr-defined]

    async with road:
        running = asyncio.create_task(road.run())
        await road.pause("work")
        before = [
            receipt.id
            for start in range(0, held, CHUNK)
            for receipt in await road.send_many(
                [_send(n) for n in range(start, min(held, start + CHUNK))]
            )
        ]
        await asyncio.sleep(LEAST_MS / 1000)  # what comes later is accepted at a later millisecond
        began_s, stop = time.monotonic(), asyncio.Event()
        traffic = asyncio.create_task(_traffic(road, stop))
        steps = [step async for step in road.cancelling("work", wait=300)]
        took_s = time.monotonic() - began_s
        stop.set()
        after, worst_ms = await traffic
        await road.resume("work")
        broken = await _check(road, steps[-1], before, after, delivered)
        road.stop()
        await running
    return Seen(steps[-1], broken, took_s, len(steps), worst_ms)


def _send(n: int) -> Send:
    return Send("work", n, order_key=f"key {n % 7}" if n % 3 == 0 else None, priority=n % 4)


async def _traffic(road: Postroad, stop: asyncio.Event) -> tuple[list[str], float]:
    """Messages that come while others are cancelled, and the longest wait for a receipt."""
    sent, worst_s = list[str](), 0.0
    await asyncio.sleep(LEAST_MS / 1000)
    while not stop.is_set() or len(sent) < 20:
        began_s = time.monotonic()
        sent.append((await road.send("work", "later")).id)
        worst_s = max(worst_s, time.monotonic() - began_s)
        await asyncio.sleep(0.005)
    return sent, worst_s * 1000


async def _check(
    road: Postroad, answer: CancelledAll, before: list[str], after: list[str], delivered: list[str]
) -> list[str]:
    """Each message of before is cancelled and never tried, each of after delivered once."""
    async with asyncio.timeout(120):
        while len(delivered) < len(after):
            await asyncio.sleep(0.02)
    sample = before[:: max(1, len(before) // 500)]
    states = {one: (await road.explain(one)).state for one in sample + after}
    broken = [f"{one} is {states[one]}" for one in sample if states[one] is not State.cancelled]
    broken += [f"{one} is {states[one]}" for one in after if states[one] is not State.delivered]
    broken += [f"{one} was tried" for one in set(delivered) & set(before)]
    if sorted(delivered) != sorted(after):
        broken.append(f"{len(delivered)} delivered, {len(after)} sent since")
    if answer != CancelledAll(cancelled=len(before)):
        broken.append(f"{answer} of {len(before)}")
    counts = await road.store.counts()
    if counts["cancelled"] != answer.cancelled:
        broken.append(f"{counts['cancelled']} are cancelled, {answer.cancelled} were said to be")
    return broken
