"""What a sender asks for, what it gets, and what it is told when it asks for the impossible."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postroad import Message, Postroad, Send
from postroad.model.errors import (
    BadBody,
    BadDsn,
    BadInput,
    BadTime,
    BodyTooLarge,
    Conflict,
    NotOpen,
    UnknownMessage,
    UnknownQueue,
)
from postroad.model.ids import to_number

Within = Callable[..., object]


BAD_SENDS = [
    (Send("no-such", 1), UnknownQueue, "register it with @road.handler"),
    (Send("work", object()), BadBody, "cannot be written as JSON"),
    (Send("work", "x" * 2_000_000), BodyTooLarge, "the limit is 1048576"),
    (Send("work", 1, delay=-1), BadTime, "negative"),
    (Send("work", 1, deliver_at=datetime(2030, 1, 1)), BadTime, "time zone"),  # noqa: DTZ001
    (Send("work", 1, delay=5, deliver_at=datetime.now(UTC)), BadTime, "not both"),
    (Send("work", 1, expires_at=datetime(2020, 1, 1, tzinfo=UTC)), BadTime, "never be sent"),
    (Send("work", 1, priority=10), BadInput, "-9 to 9"),
    (Send("work", 1, key="k" * 300), BadInput, "at most 255"),
    (Send("work", 1, headers={"a": "b" * 20_000}), BadInput, "headers"),
    (Send("ftp://somewhere", 1), BadInput, "no transport"),
]


@pytest.mark.parametrize(("send", "error", "words"), BAD_SENDS)
def test_a_bad_send_is_refused_by_name_and_stores_nothing(
    road: Postroad, within: Within, send: Send, error: type[Exception], words: str
) -> None:
    """Nor does it take the good ones of its batch along."""

    @road.handler("work")
    async def work(_message: object) -> None: ...

    async def story() -> None:
        async with road:
            with pytest.raises(error, match=words):
                await road.send_many([("work", 1), send])
            counts = await road.store.counts()
            assert sum(counts.values()) == 0

    within(story())


@pytest.mark.parametrize("dsn", ["", "sqlite://", "mysql://x", "sqlite:///", "sqlite:///:memory:"])
def test_a_dsn_that_is_not_understood_is_refused(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what one looks like."""
    monkeypatch.setenv("POSTROAD_DSN", dsn or "nonsense")
    with pytest.raises(BadDsn, match="sqlite:///"):
        Postroad()


def test_a_road_that_is_not_open_says_so(road: Postroad, within: Within) -> None:
    """For sending and for running."""
    with pytest.raises(NotOpen, match="async with road"):
        within(road.send("work", 1))
    with pytest.raises(NotOpen, match="async with road"):
        within(road.run())


def test_the_same_key_and_body_give_the_first_receipt_again(road: Postroad, within: Within) -> None:
    """And another body is a conflict."""

    @road.handler("work")
    async def work(_message: object) -> None: ...

    async def story() -> None:
        async with road:
            first = await road.send("work", {"a": 1}, key="k")
            again = await road.send("work", {"a": 1}, key="k")
            assert (again.id, again.duplicate) == (first.id, True)
            with pytest.raises(Conflict, match=first.id):
                await road.send("work", {"a": 2}, key="k")
            assert (await road.store.counts())["waiting"] == 1

    within(story())


def test_a_queue_that_another_process_registered_can_be_sent_to(
    tmp_path: Path, within: Within
) -> None:
    """A web process sends; the worker that has the handler comes later."""
    dsn = f"sqlite:///{tmp_path}/road.db"
    worker, web = Postroad(dsn), Postroad(dsn)
    seen: list[object] = []

    @worker.handler("work")
    async def work(message: Message[object]) -> None:
        seen.append(message.body)

    async def story() -> None:
        async with worker:
            pass
        async with web:
            await web.send("work", 7)
            await web.run(until_idle=True)
            assert seen == []
        async with worker:
            await worker.run(until_idle=True)

    within(story())
    assert seen == [7]


def test_deliver_at_waits_and_expires_at_ends(road: Postroad, within: Within) -> None:
    """What is not due yet stays waiting."""

    @road.handler("work")
    async def work(_message: object) -> None: ...

    async def story() -> None:
        async with road:
            later = datetime.now(UTC) + timedelta(hours=1)
            await road.send("work", 1, deliver_at=later)
            await road.send("work", 2, delay=3600, expires_at=later + timedelta(hours=1))
            await road.run(until_idle=True)
            counts = await road.store.counts()
            assert (counts["waiting"], counts["delivered"]) == (2, 0)

    within(story())


def test_ids_are_in_order_and_a_wrong_one_is_named(road: Postroad, within: Within) -> None:
    """Later receipts are larger."""

    @road.handler("work")
    async def work(_message: object) -> None: ...

    async def story() -> list[str]:
        async with road:
            receipts = await road.send_many([("work", n) for n in range(100)])
            return [receipt.id for receipt in receipts]

    ids = within(story())
    assert isinstance(ids, list)
    assert ids == sorted(ids)
    assert len(set(ids)) == 100
    with pytest.raises(UnknownMessage, match="ids look like"):
        to_number("msg_nonsense")
