"""Handlers: plain and async, rejected, later, cut, limited, in order of priority."""

import asyncio
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad, Reject, RetryLater
from postroad.config import Settings
from postroad.model.errors import BadInput
from postroad.model.limits import Limits
from postroad.observe.log import make_log
from postroad.verbs.parts import Parts

Within = Callable[..., Any]


def test_async_and_plain_functions_get_the_message(road: Postroad, within: Within) -> None:
    """A plain one runs in a thread of its own."""
    seen: list[tuple[object, ...]] = []

    @road.handler("async")
    async def on_async(message: Any) -> None:
        seen.append((message.body, message.headers, message.level, message.attempt))

    @road.handler("plain")
    def on_plain(message: Any) -> None:
        main = threading.current_thread() is threading.main_thread()
        seen.append((message.body, main))

    async def story() -> None:
        async with road:
            receipt = await road.send("async", {"a": [1]}, headers={"x": "y"})
            await road.send("plain", b"\x00raw")
            await road.run(until_idle=True)
            assert receipt.id.startswith("msg_")

    within(story())
    assert sorted(seen, key=repr) == [(b"\x00raw", False), ({"a": [1]}, {"x": "y"}, 0, 1)]


def test_reject_dies_at_once_and_later_spends_no_level(road: Postroad, within: Within) -> None:
    """And any other exception climbs."""
    tries: list[str] = []

    @road.handler("reject")
    async def reject(_message: Any) -> None:
        raise Reject("never")

    @road.handler("later")
    async def later(message: Any) -> None:
        tries.append(f"{message.level}.{message.attempt}")
        if message.attempt == 1:
            raise RetryLater(0.05)

    @road.handler("fails")
    async def fails(_message: Any) -> None:
        raise ValueError("no")

    async def story() -> None:
        async with road:
            for name in ("reject", "later", "fails"):
                await road.send(name, 1)
            running = asyncio.create_task(road.run())
            while (await road.store.counts())["delivered"] < 1:
                await asyncio.sleep(0.01)
            road.stop()
            await running
            counts = await road.store.counts()
            assert (counts["dead"], counts["delivered"], counts["waiting"]) == (1, 1, 1)

    within(story())
    assert tries == ["0.1", "0.2"]


def test_a_hung_handler_is_cut(road: Postroad, within: Within) -> None:
    """Its clean-up runs, and the try counts as failed."""
    cleaned: list[bool] = []

    @road.handler("hangs", timeout=0.1, retries=0)
    async def hangs(_message: Any) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cleaned.append(True)

    async def story() -> None:
        async with road:
            await road.send("hangs", 1)
            await road.run(until_idle=True)
            assert (await road.store.counts())["dead"] == 1

    within(story())
    assert cleaned == [True]


def test_concurrency_is_kept(road: Postroad, within: Within) -> None:
    """Never more calls of a handler at once than it allows."""
    now = most = 0

    @road.handler("limited", concurrency=3)
    async def limited(_message: Any) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.002)
        now -= 1

    async def story() -> None:
        async with road:
            await road.send_many([("limited", n) for n in range(200)])
            await road.run(until_idle=True)
            assert (await road.store.counts())["delivered"] == 200

    within(story())
    assert most == 3


def test_an_ordered_queue_keeps_the_order_of_acceptance(road: Postroad, within: Within) -> None:
    """One at a time, over all its messages."""
    seen: list[int] = []

    @road.handler("work", ordered=True)
    async def work(message: Any) -> None:
        await asyncio.sleep(0)
        seen.append(message.body)

    async def story() -> None:
        async with road:
            await road.send_many([("work", n) for n in range(100)])
            await road.run(until_idle=True)

    within(story())
    assert seen == list(range(100))


def test_the_log_prints_the_retry_levels_at_start_and_work_with_its_level(
    tmp_path: Path, within: Within
) -> None:
    """As seed 001 does: level, interval, queries an hour, total. Without debug the total alone."""
    stream = io.StringIO()
    done = asyncio.Event()
    parts = Parts(log=make_log("debug", stream))
    road = Postroad(f"sqlite:///{tmp_path}/road.db", parts=parts)

    @road.handler("work")
    async def work(_message: Any) -> None:
        done.set()

    async def story() -> None:
        async with road:
            await road.send("work", 1)
            running = asyncio.create_task(road.run())
            await done.wait()
            road.stop()
            await running

    within(story())
    log = stream.getvalue()
    assert "retry_level=0 poll_interval=5s queries_per_hour=720" in log
    assert "retry_level=6 poll_interval=3600s queries_per_hour=1" in log
    assert "store queries per hour while notifications are down" in log
    assert "levels=7 queries=889" in log
    assert "event=attempt retry_level=0" in log
    info = [line for line in log.splitlines() if "level=info" in line]
    assert "made a key" in info[0]
    assert ["queries=889" in line for line in info[1:]] == [True, False]
    assert "webhook guard" in info[2]


def test_stopping_finishes_what_is_quick_and_gives_back_what_is_not(
    tmp_path: Path, within: Within
) -> None:
    """No attempt is spent by a stop."""
    settings = Settings(limits=Limits(drain_s=0.2))
    road = Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings)
    started = asyncio.Event()

    @road.handler("slow")
    async def slow(message: Any) -> None:
        started.set()
        if message.attempt == 1 and not message.body:
            await asyncio.sleep(3600)

    async def story() -> None:
        async with road:
            await road.send("slow", None)
            running = asyncio.create_task(road.run())
            await started.wait()
            road.stop()
            await running
            counts = await road.store.counts()
            assert (counts["waiting"], counts["delivered"]) == (1, 0)

    within(story())


@pytest.mark.parametrize(
    "options",
    [
        {"retries": -1},
        {"timeout": 0},
        {"concurrency": -1},
        {"concurrency": 0},
        {"on_exhausted": "explode"},
    ],
)
def test_a_bad_handler_option_is_refused_at_once(road: Postroad, options: dict[str, Any]) -> None:
    """Where it is written, not when a message comes."""
    with pytest.raises(BadInput):
        road.handler("work", **options)


def test_a_name_is_registered_once(road: Postroad) -> None:
    """And cannot be an address."""
    road.handler("work")(lambda _message: None)
    with pytest.raises(BadInput, match="registered already"):
        road.handler("work")(lambda _message: None)
    with pytest.raises(BadInput, match="not an address"):
        road.handler("https://example.com")
