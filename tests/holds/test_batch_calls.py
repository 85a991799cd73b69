"""The calls of handlers that get a list: how many there are, in what context, and how they are
stopped."""

import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from pathlib import Path

import pytest
from msgspec.structs import replace

from postroad import Message, Postroad
from postroad.config import Settings
from postroad.errors import BadInput
from tests.jobs.stopping import delivering, until

WHO: ContextVar[str] = ContextVar("who", default="nobody")


async def test_one_of_a_call_is_told_and_all_of_it_are_cut(road: Postroad) -> None:
    """A message that its handler has done is not cancelled."""
    seen, go = list[str](), asyncio.Event()

    @road.handler("index", batch=2, within=100, timeout=150, retries=0)
    async def index(messages: list[Message[str]]) -> None:
        bodies = sorted(message.body for message in messages)
        seen.append(f"{bodies} began")
        try:
            await asyncio.wait_for(go.wait(), 100)
        except asyncio.CancelledError:
            seen.append(f"{bodies} stopped")
            if "stubborn" not in bodies:
                raise
        if "half" in bodies and any(message.cancelled for message in messages):
            raise ValueError

    async def begun(*bodies: str) -> list[str]:
        ids = [one.id for one in await road.send_many([("index", body) for body in bodies])]
        await until(lambda: f"{sorted(bodies)} began" in seen)
        return ids

    async def tells(id: str) -> None:  # noqa: A002
        while (await road.cancel(id, running=True, wait=1)).state != "sending":
            pass

    async with asyncio.timeout(150), delivering(road):
        alone = await road.send("index", "alone")  # it waits for more
        while (await road.jobs.wait(alone.id, timeout=0)).state != "sending":
            await asyncio.sleep(0.02)
        assert (await road.cancel(alone.id, running=True)).state == "cancelled"
        one, other = await begun("a", "b")
        await tells(one)
        half, whole = await begun("c", "half")
        await tells(whole)
        go.set()
        assert (await road.jobs.wait(one, timeout=40)).state == "delivered"
        assert (await road.jobs.wait(other, timeout=40)).state == "delivered"
        assert (await road.jobs.wait(whole, timeout=40)).state == "cancelled"
        assert (await road.jobs.wait(half, timeout=40)).state == "dead"
        go.clear()
        for bodies, state in (("d", "e"), "cancelled"), (("f", "stubborn"), "final"):
            both = await begun(*bodies)
            told = await asyncio.gather(*(road.cancel(one, running=True) for one in both))
            assert {each.state for each in told} == {state}
        assert [each for each in seen if "stopped" in each] == [
            "['d', 'e'] stopped",
            "['f', 'stubborn'] stopped",
        ]


async def test_what_a_hook_sets_for_one_message_does_not_hold_for_the_call(road: Postroad) -> None:
    told: list[tuple[str, str]] = []

    @road.around
    async def tenant(message: Message[str]) -> AsyncIterator[None]:
        token = WHO.set(message.body)
        try:
            yield
        finally:
            told.append((message.body, WHO.get()))
            WHO.reset(token)

    @road.handler("index", batch=3, within=25)
    async def index(_messages: list[Message[str]]) -> None:
        told.append(("call", WHO.get()))
        WHO.set("the call")

    for _ in range(2):
        await road.send_many([("index", body) for body in ("ann", "bob", "cy")])
        await road.run(until_idle=True)
        own = [("ann", "ann"), ("bob", "bob"), ("call", "nobody"), ("cy", "cy")]
        assert sorted(told) == own
        told.clear()


async def test_concurrency_counts_calls_and_each_is_full(road: Postroad) -> None:
    """They waited for `within` with as many messages as `concurrency` says."""
    running, most, sizes = 0, 0, list[int]()

    @road.handler("index", batch=20, within=25, concurrency=2)
    async def index(messages: list[Message[int]]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        sizes.append(len(messages))

    await road.send_many([("index", n) for n in range(160)])
    async with asyncio.timeout(60):
        await road.run(until_idle=True)
    assert (sizes, most) == ([20] * 8, 2)


async def test_a_call_that_is_due_waits_for_the_end_of_another(road: Postroad) -> None:
    running, calls = 0, list[int]()

    @road.handler("index", batch=20, within=0.01, concurrency=1)
    async def index(_messages: list[Message[int]]) -> None:
        nonlocal running
        running += 1
        calls.append(running)
        if len(calls) == 1:
            await road.send_many([("index", n) for n in range(3)])
        await asyncio.sleep(0.2)
        running -= 1

    await road.send("index", 0)
    async with asyncio.timeout(60):
        await road.run(until_idle=True)
    assert set(calls) == {1}
    assert len(calls) >= 2
    assert (await road.store.counts())["delivered"] == 4


async def test_lists_that_never_fill_are_refused_by_name(tmp_path: Path) -> None:
    settings = Settings(dsn=f"sqlite:///{tmp_path}/road.db")

    async def index(messages: list[Message]) -> None: ...

    with pytest.raises(BadInput, match="does not go with ordered="):
        Postroad(settings.dsn).handler("index", batch=5, ordered=True)
    road = Postroad(settings=settings)
    road.handler("index", batch=513)(index)
    with pytest.raises(BadInput, match=r"batch=513 never fills.*limits.in_flight_max"):
        _ = await road.__aenter__()
    limits = replace(settings.limits, in_flight_max=513)
    road = Postroad(settings=replace(settings, limits=limits))
    road.handler("index", batch=513)(index)
    async with road:
        pass
