"""Who waits for an end is rung for, whatever ends the message, and asks the store seldom."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postroad import Batch, Message, Postroad
from postroad.verbs import ending
from tests.jobs.conftest import Within
from tests.jobs.stopping import until
from tests.jobs.test_results import running


def test_what_expires_or_is_replaced_is_rung_for(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in another process, once it is known that somebody waits there."""
    monkeypatch.setattr(ending, "LOOK_S", 3600.0)
    monkeypatch.setattr(ending, "SOON_S", 3600.0)
    road = Postroad(dsn)
    asking = Postroad(dsn) if "postgres" in dsn else road
    bell: Any = road.store.bell

    @road.handler("plain")
    async def plain(message: Message) -> None: ...

    async def waited(id: str) -> "asyncio.Task[Any]":  # noqa: A002
        waiting = asyncio.create_task(asking.jobs.wait(id))
        await until(lambda: bell.awaits)
        return waiting

    async def story() -> None:
        async with running(road), AsyncExitStack() as stack:
            if asking is not road:
                _ = await stack.enter_async_context(asking)
            first = await road.send("plain", 1, replace="k", delay=3600)
            waiting = await waited(first.id)
            _ = await road.send("plain", 2, replace="k", delay=3600)
            assert (await waiting).state == "cancelled"
            await until(lambda: not bell.awaits)
            await road.pause("plain")
            soon = datetime.now(UTC) + timedelta(seconds=3)
            waiting = await waited((await road.send("plain", 3, expires_at=soon)).id)
            assert (await waiting).reason == "expired"

    within(story())


def test_who_waits_for_a_batch_that_is_never_sent_is_rung_for(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOOK_S", "SOON_S", "LOOK_DEAF_S"):
        monkeypatch.setattr(ending, name, 3600.0)
    road, go = Postroad(dsn), asyncio.Event()
    bell: Any = road.store.bell

    @road.handler("plain")
    async def plain(_message: Message) -> None:
        await go.wait()

    async def story() -> None:
        async with running(road):
            after = Batch([("plain", 3)], on_failure=Batch([("plain", 4)]))
            first = await road.batch([("plain", 1)], then=("plain", 2), on_failure=after)
            listed = (await road.batches.list()).batches
            others = [one.id for one in listed if one.id != first.id]
            waits = [asyncio.create_task(road.batches.wait(one)) for one in others]
            await until(lambda: len(bell._waits) == 2)
            go.set()
            assert [(await one).state for one in waits] == ["skipped", "skipped"]

    within(story())


def test_who_waits_while_the_bell_lives_looks_once_a_minute(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand who wait asked the store 200 times a second."""
    road = Postroad(dsn)
    pauses: list[float] = []

    @road.handler("slow")
    async def slow(message: Message) -> None: ...

    async def pause(_store: object, _rung: object, left_s: float) -> None:
        pauses.append(left_s)
        if len(pauses) == 5:
            raise asyncio.CancelledError

    async def story() -> None:
        async with road:
            later = await road.send("slow", 1, delay=3600)
            with pytest.raises(asyncio.CancelledError):
                _ = await road.jobs.wait(later.id)

    monkeypatch.setattr(ending, "_pause", pause)
    within(story())
    assert pauses == [0.25, 60, 60, 60, 60]
