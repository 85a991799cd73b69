"""Handlers that get a list: gathered over their lanes, each message with an outcome of its own."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from postroad import Message, Postroad, Reject, RetryLater, Some
from postroad.errors import BadInput
from postroad.ports.clock import SystemClock
from postroad.transports.gathering import Gatherer
from postroad.transports.job import Job, plain
from tests.foreign_input.answers import MESSAGE


async def test_messages_of_all_lanes_are_gathered(road: Postroad) -> None:
    calls: list[list[int]] = []

    @road.handler("index", batch=40, within=25)
    async def index(messages: list[Message[int]]) -> None:
        calls.append([message.body for message in messages])

    await road.send_many([("index", n) for n in range(120)])
    await road.run(until_idle=True)
    assert [len(call) for call in calls] == [40, 40, 40]
    assert sorted(n for call in calls for n in call) == list(range(120))


async def test_each_message_has_its_own_outcome(road: Postroad) -> None:
    got: list[str] = []

    @road.handler("index", batch=10, within=0.2, retries=0)
    async def index(messages: list[Message[str]]) -> dict[str, Exception | None]:
        got.extend(message.body for message in messages)
        told: dict[str, Exception | None] = {}
        for message in messages:
            told[message.id] = {"bad": Reject("no"), "later": RetryLater(3600)}.get(message.body)
        return told

    receipts = await road.send_many([("index", body) for body in ("a", "bad", "later", "b")])
    states = ["delivered", "dead", "waiting", "delivered"]
    await road.run(until_idle=True)
    assert [(await road.explain(one.id)).state for one in receipts] == states


async def test_some_failed_and_the_others_are_delivered(road: Postroad) -> None:
    @road.handler("index", batch=10, within=0.2, retries=0)
    async def index(messages: list[Message[str]]) -> None:
        raise Some(failed=[message.id for message in messages if message.body == "bad"])

    receipts = await road.send_many([("index", body) for body in ("a", "bad", "b")])
    await road.run(until_idle=True)
    states = [(await road.explain(one.id)).state for one in receipts]
    assert states == ["delivered", "dead", "delivered"]


async def test_failures_of_messages_that_it_did_not_get_are_not_lost(road: Postroad) -> None:
    @road.handler("index", batch=10, within=0.2, retries=0)
    async def index(messages: list[Message[str]]) -> None:
        raise Some(failed=[message.body for message in messages])

    receipt = await road.send("index", "order-7")
    await road.run(until_idle=True)
    told = await road.explain(receipt.id)
    assert told.state == "dead"
    assert "'order-7' as failed, which it did not get" in told.tries[-1].error


async def test_what_is_raised_fails_all_and_a_bad_body_only_itself(road: Postroad) -> None:
    @road.handler("index", batch=10, within=0.2, retries=0)
    async def index(messages: list[Message[int]]) -> None:
        raise RuntimeError(f"{len(messages)} of them")

    receipts = await road.send_many([("index", 1), ("index", "wide"), ("index", 2)])
    await road.run(until_idle=True)
    dead = {one.id: one for one in (await road.dead.list()).messages}
    assert {one.id for one in receipts} == dead.keys()
    assert "does not fit" in dead[receipts[1].id].error
    assert dead[receipts[0].id].reason == "exhausted"


@pytest.mark.parametrize("cancels", [True, False])
async def test_whatever_a_call_comes_to_every_message_has_an_answer(
    road: Postroad, *, cancels: bool
) -> None:
    @road.handler("index", batch=2, within=25, retries=0)
    async def index(messages: list[Message[int]]) -> dict[str, Exception]:
        if cancels:
            inner = asyncio.create_task(asyncio.sleep(3600))
            inner.cancel()
            await inner
        return {message.id: StopIteration(message.body) for message in messages}

    await road.send_many([("index", 1), ("index", 2)])
    async with asyncio.timeout(60):
        await road.run(until_idle=True)
    said = "that was cancelled" if cancels else "StopIteration"
    errors = [one.error for one in (await road.dead.list()).messages]
    assert [said in error for error in errors] == [True, True]


def test_the_wait_for_more_is_by_the_clock_that_is_given() -> None:
    """An hour of a hastened clock is soon over."""

    async def story() -> None:
        calls: list[int] = []

        async def index(messages: list[Job]) -> None:
            calls.append(len(messages))

        message: Job = Message(MESSAGE, plain, print, print)
        async with asyncio.timeout(60):
            await Gatherer(index, 2, 3600, SystemClock(speed=1_000_000)).handle(message)
        assert calls == [1]

    asyncio.run(story())


def test_a_call_that_is_stopped_before_it_began_gives_its_answers() -> None:
    """Its messages waited for their timeout, and had failed then."""

    async def story() -> None:
        gatherer = Gatherer(_nothing, 1, 20, SystemClock())
        message: Job = Message(MESSAGE, plain, print, print)
        trying = asyncio.create_task(gatherer.handle(message))
        # Between the start of the call and its first line.
        _ = asyncio.get_running_loop().call_soon(gatherer.stop, message.id)
        async with asyncio.timeout(60):
            with pytest.raises(RuntimeError, match="was ended"):
                await trying

    asyncio.run(story())


def test_a_call_of_which_one_was_cut_and_the_other_is_cancelled_is_ended() -> None:
    async def story() -> None:
        begun = asyncio.Event()

        async def index(_messages: list[Job]) -> None:
            begun.set()
            await asyncio.Event().wait()

        gatherer = Gatherer(index, 2, 20, SystemClock())
        jobs: list[Job] = [
            Message(replace(MESSAGE, id=number), plain, print, print) for number in (1, 2)
        ]
        cut, cancelled = [asyncio.create_task(gatherer.handle(job)) for job in jobs]
        async with asyncio.timeout(60):
            _ = await begun.wait()
            _ = cut.cancel()  # at its deadline
            _ = await asyncio.wait([cut])
            assert not gatherer.stop(jobs[1].id)
            with pytest.raises(RuntimeError, match="was ended"):
                await cancelled

    asyncio.run(story())


def test_the_wait_for_more_begins_again_in_another_loop() -> None:
    """A road that was closed while one waited, and is opened again."""
    gatherer = Gatherer(_nothing, 2, 0.2, SystemClock())
    message: Job = Message(MESSAGE, plain, print, print)

    async def close() -> None:
        trying = asyncio.create_task(gatherer.handle(message))
        await asyncio.sleep(0)
        _ = trying.cancel()

    async def open_again() -> None:
        async with asyncio.timeout(60):
            await gatherer.handle(message)

    asyncio.run(close())
    asyncio.run(open_again())


async def _nothing(_messages: list[Job]) -> None: ...


def test_bad_options_are_named(dsn: str) -> None:
    road = Postroad(dsn)
    wrong: list[dict[str, Any]] = [
        {"batch": 0},
        {"batch": "many"},
        {"within": 1.0},
        {"batch": 5, "within": -1},
        {"batch": 5, "within": 60},
        {"batch": 5, "result_ttl": 60},
    ]
    for options in wrong:
        with pytest.raises(BadInput):
            road.handler("index", **options)
    with pytest.raises(BadInput, match="is a coroutine"):

        @road.handler("plain", batch=5)
        def plain(messages: list[Message]) -> None: ...

    with pytest.raises(BadInput, match="gets a list of messages"):

        @road.handler("body", batch=5)
        async def body(numbers: list[int]) -> None: ...
