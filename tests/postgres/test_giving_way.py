"""Lanes go to another process where messages start sooner there, and stay where they would not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from postroad import Message, Postroad
from postroad.config import Settings
from postroad.engine import lane_claims, owned_lanes
from postroad.engine.engine import Engine
from postroad.model.entities import HANDLER_SHARDS, hashed
from postroad.model.limits import Limits
from postroad.model.record import Claim
from postroad.ports.store import Levels, Names
from postroad.verbs.handler_options import HandlerOptions

Within = Callable[[Coroutine[Any, Any, Any]], Any]
WITHIN_S = 60
"""Less than the interval of the safety poll."""


def road_of(
    dsn: str, job: Callable[[int], Awaitable[None]], concurrency: int | None = None
) -> Postroad:
    """A road whose handler calls that function with the message's number."""
    road = Postroad(dsn, settings=Settings(log_level="warning", limits=Limits(linger_ms=100)))
    road.hears_signals = False

    options = HandlerOptions(timeout=600)
    if concurrency:
        options["concurrency"] = concurrency

    @road.handler("job", **options)
    async def on_job(message: Message[int]) -> None:
        await job(message.body)

    return road


@asynccontextmanager
async def running(road: Postroad) -> AsyncIterator[Engine]:
    """An open road that delivers."""
    async with road:
        work = asyncio.create_task(road.run())
        while road.engine is None:
            await asyncio.sleep(0.01)
        try:
            yield road.engine
        finally:
            road.stop()
            await work


async def until(holds: Callable[[], object]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


def test_messages_do_not_wait_for_long_jobs_of_lanes_that_another_process_is_to_have(
    dsn: str, within: Within
) -> None:
    """Each lane of the first process runs a job that does not end, and half of its lanes are the
    second one's share."""

    async def story() -> None:
        began: set[int] = set()
        end = asyncio.Event()

        async def job(number: int) -> None:
            began.add(number)
            await end.wait()

        async with running(one := road_of(dsn, job)) as engine:
            await one.send_many([("job", n) for n in range(64)])
            await until(lambda: len(began) == 64)
            async with running(road_of(dsn, job)), asyncio.timeout(WITHIN_S):
                await until(lambda: any(lane.leaving for lane in engine.lanes.values()))
                await one.send_many([("job", n) for n in range(64, 128)])
                await until(lambda: len(began) == 128)
                end.set()

    within(story())


def keys() -> list[str]:
    """Order keys of one shard each."""
    of = {hashed(key, HANDLER_SHARDS): key for key in map(str, range(200))}
    return list(of.values())


def test_messages_that_wait_for_a_place_go_to_a_process_that_has_one(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process owns all lanes, and has one call at a time, that waits for all others."""
    monkeypatch.setattr(owned_lanes, "ASK_EVERY_S", 0.5)
    monkeypatch.setattr(lane_claims, "SHED_EVERY_S", 0.5)

    async def story() -> None:
        first, rest = asyncio.Event(), asyncio.Event()
        left = set(range(1, HANDLER_SHARDS))

        async def job(number: int) -> None:
            if number == 0:
                first.set()
                await rest.wait()
            left.discard(number)
            if not left:
                rest.set()

        one, two = road_of(dsn, job, concurrency=1), road_of(dsn, job, concurrency=1)
        asked, owned = asyncio.Event(), asyncio.Event()
        async with two:
            claim = two.store.claim

            async def claim_later(
                owner: int, levels: Levels, pools: Names, limit: int, without: Names = ()
            ) -> Claim:
                """Only its first question comes before the first process owns everything."""
                if asked.is_set():
                    await owned.wait()
                asked.set()
                return await claim(owner, levels, pools, limit, without)

            two.store.claim = claim_later  # type: ignore[method-assign]
            second = asyncio.create_task(two.run())
            await asked.wait()
            async with running(one) as engine:
                zero, *others = keys()
                await one.send("job", 0, order_key=zero)
                await first.wait()
                for number, key in enumerate(others, 1):
                    await one.send("job", number, order_key=key)
                seen: set[int] = set()
                while len(seen) < HANDLER_SHARDS:
                    await asyncio.sleep(0.01)
                    seen.update(engine.lanes)
                owned.set()
                async with asyncio.timeout(WITHIN_S):
                    await rest.wait()
            two.stop()
            await second

    within(story())
