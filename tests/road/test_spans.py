"""A span of time is given in seconds or as a timedelta, and what is neither is told by name."""

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from postroad import Message, Postroad, RetryLater, Send, sync
from postroad.model.errors import BadInput, BadTime

Within = Callable[..., Any]
HOUR = timedelta(hours=1)
URL = "https://127.0.0.1/hook"


@pytest.fixture
def road(road: Postroad) -> Postroad:
    @road.handler("work")
    async def work(_message: object) -> None: ...

    return road


def test_a_delay_is_seconds_or_a_timedelta(road: Postroad, within: Within) -> None:
    async def story() -> None:
        async with road:
            sent = [await road.send("work", 1, delay=delay) for delay in (3600, 3600.0, HOUR)]
            sent += await road.send_many([Send("work", 1, delay=HOUR)])
            connection = road.connection()
            with connection:
                sent.append(await road.send_in(connection, "work", 1, delay=HOUR))
            now_ms = road.store.clock.now_ms()
            for receipt in sent:
                due_ms = (await road.explain(receipt.id)).next.not_before_ms
                assert due_ms is not None
                assert now_ms + 3_500_000 < due_ms <= now_ms + 3_600_000
            await road.send("work", 1, delay=timedelta(0))
            await road.run(until_idle=True)
            assert (await road.store.counts())["delivered"] == 1

    within(story())


def test_the_blocking_face_takes_a_timedelta_too(tmp_path: Path) -> None:
    with sync.Postroad(f"sqlite:///{tmp_path}/road.db") as road:
        road.handler("work")(print)
        assert road.send("work", 1, delay=HOUR).id
        with pytest.raises(BadTime, match="or a timedelta"):
            road.send("work", 1, delay="1h")  # type: ignore[arg-type]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"delay": "5"}, "delay='5': give seconds from now or a timedelta"),
    ({"delay": [5]}, "delay=.*or a timedelta"),
    ({"delay": True}, "delay=True: give seconds"),
    ({"delay": nan}, "delay=nan: give seconds"),
    ({"delay": inf}, "at most a century"),
    ({"delay": 10**400}, "at most a century"),
    ({"delay": -HOUR}, "not a negative one"),
    ({"delay": timedelta.max}, "at most a century"),
    ({"delay": HOUR, "deliver_at": datetime.now(UTC) + HOUR}, "not both"),
    ({"deliver_at": HOUR}, "deliver_at=.*: give a datetime with its time zone"),
    ({"deliver_at": "2030-01-01"}, "deliver_at=.*: give a datetime"),
    ({"deliver_at": 1_900_000_000}, "deliver_at=.*: give a datetime"),
    ({"expires_at": date(2030, 1, 1)}, "expires_at=.*: give a datetime"),
    ({"priority": "5"}, "priority='5': give a whole number"),
    ({"priority": 2.0}, "priority=2.0: give a whole number"),
    ({"priority": True}, "priority=True: give a whole number"),
    ({"key": 7}, "key=7: give a text"),
    ({"key": ""}, "key is empty: give one, or leave it out"),
    ({"order_key": ""}, "order_key is empty: give one, or leave it out"),
    ({"tenant": ""}, "tenant is empty: give one, or leave it out"),
    ({"order_key": b"k"}, "order_key=b'k': give a text"),
    ({"tenant": 7}, "tenant=7: give a text"),
    ({"headers": [("a", "b")]}, "headers=.*: give a dict"),
    ({"headers": {"a": 1}}, r"headers: 'a' \(int\) must be texts"),
    ({"headers": {1: "a"}}, "must be texts"),
    ({"headers": {"a\n": "b"}}, r"headers: 'a\\n' has a control character"),
    ({"headers": {"a": "b\r\nc: d"}}, "headers: 'a' has a control character"),
    ({"headers": {"a": "b\x00"}}, "headers: 'a' has a control character"),
]


@pytest.mark.parametrize(
    ("name", "words"), [("kye", "did you mean 'key'?"), ("zzz", "give key, order_key")]
)
def test_an_option_that_there_is_not_is_told_with_the_nearest(
    road: Postroad, within: Within, name: str, words: str
) -> None:
    async def story() -> None:
        async with road:
            with pytest.raises(BadInput, match=re.escape(f"send: there is no {name}=: {words}")):
                await road.send("work", 1, **{name: 1})  # type: ignore[arg-type]

    within(story())


@pytest.mark.parametrize(("fields", "words"), WRONG)
def test_a_field_of_a_wrong_type_is_told_by_name_and_stores_nothing(
    road: Postroad, within: Within, fields: dict[str, Any], words: str
) -> None:
    async def story() -> None:
        async with road:
            with pytest.raises(BadInput, match=words):
                await road.send("work", 1, **fields)
            with pytest.raises(BadInput, match=words):
                await road.send_many([("work", 1), Send("work", 1, **fields)])
            assert sum((await road.store.counts()).values()) == 0
            await road.send("work", 1)
            await road.run(until_idle=True)
            assert (await road.store.counts())["delivered"] == 1

    within(story())


@pytest.mark.parametrize("queue", [None, 7, b"work", ["work"]])
def test_a_queue_that_is_no_text_is_told(road: Postroad, within: Within, queue: Any) -> None:
    async def story() -> None:
        async with road:
            with pytest.raises(BadInput, match=r"queue=.*: give a text"):
                await road.send(queue, 1)

    within(story())


@pytest.mark.parametrize("given", ["work", 7, ("work",), ("work", 1, "key"), None])
def test_what_is_no_message_is_told_with_all_of_its_batch(
    road: Postroad, within: Within, given: Any
) -> None:
    async def story() -> None:
        async with road:
            with pytest.raises(BadInput, match=r"neither a Send\(…\) nor a \(queue, body\)"):
                await road.send_many([("work", 1), given])
            assert sum((await road.store.counts()).values()) == 0

    within(story())


def test_retry_later_takes_a_timedelta_and_spends_no_level(road: Postroad, within: Within) -> None:
    tries: list[tuple[int, int]] = []

    @road.handler("later")
    async def later(message: Message[object]) -> None:
        tries.append((message.level, message.attempt))
        if message.attempt == 1:
            raise RetryLater(timedelta(milliseconds=50))

    async def story() -> None:
        async with road:
            await road.send("later", 1)
            running = asyncio.create_task(road.run())
            while (await road.store.counts())["delivered"] < 1:
                await asyncio.sleep(0.01)
            road.stop()
            await running

    within(story())
    assert tries == [(0, 1), (0, 2)]


@pytest.mark.parametrize("after", [-1, -HOUR, "5", nan, inf, None, True])
def test_a_retry_at_no_time_is_told(after: Any) -> None:
    with pytest.raises(BadTime, match="give seconds from now or a timedelta"):
        RetryLater(after)


def test_what_lasts_may_be_a_timedelta_everywhere(road: Postroad, within: Within) -> None:
    road.handler("slow", timeout=timedelta(minutes=2))(lambda _message: None)

    async def story() -> None:
        async with road:
            receipt = await road.send("slow", 1)
            queue = await road.store.find_queue("default", "slow")
            assert queue is not None
            assert queue.policy.timeout_ms == 120_000
            made = await road.tokens.make("me", lasts_s=HOUR)
            assert made.token.expires_at_ms == made.token.created_at_ms + 3_600_000
            await road.cancel(receipt.id, wait=timedelta(seconds=5))
            assert (await road.mailboxes.create(ttl_s=HOUR)).box

    within(story())


def test_what_lasts_no_time_is_told_everywhere(road: Postroad, within: Within) -> None:
    for options in ({"timeout": "30"}, {"timeout": -HOUR}, {"concurrency": "8"}, {"retries": 2.5}):
        with pytest.raises(BadInput):
            road.handler("bad", **options)

    async def story() -> None:
        async with road:
            receipt = await road.send("work", 1)
            bad: list[Callable[[], Any]] = [
                lambda: road.tokens.make("me", lasts_s="1h"),  # type: ignore[arg-type]
                lambda: road.cancel(receipt.id, wait="5"),  # type: ignore[arg-type]
                lambda: road.cancel_all("work", wait=-HOUR),
                lambda: road.mailboxes.create(ttl_s="1h"),  # type: ignore[arg-type]
                lambda: road.webhooks.set(URL, timeout="5"),  # type: ignore[arg-type]
                lambda: road.webhooks.set(URL, connect_timeout=-HOUR),
            ]
            for ask in bad:
                with pytest.raises(BadInput, match="seconds"):
                    await ask()
            await road.run(until_idle=True)
            assert (await road.store.counts())["delivered"] == 1

    within(story())
