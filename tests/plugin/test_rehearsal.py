"""The road that a test of a program uses: it delivers when told to, in simulated time."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postroad import Message, Postroad, Reject, Send
from postroad import sync as blocking
from postroad.model.control import CancelState
from postroad.model.errors import BadInput, UnknownQueue
from postroad.stores.sqlite.store import SqliteStore
from postroad.testing.rehearsal import Rehearsal


@pytest.fixture
def road(tmp_path: Path) -> Iterator[Rehearsal]:
    with Rehearsal(tmp_path / "road.db") as rehearsal:
        yield rehearsal


@dataclass
class Order:
    id: int
    item: str = "cup"


def test_nothing_is_delivered_before_it_is_told_to(road: Rehearsal) -> None:
    """Also when it has run before."""
    seen: list[object] = []

    @road.handler("work")
    async def work(message: Message[Order]) -> None:
        seen.append(message.body)

    for n in range(3):
        road.send("work", Order(n))
        assert len(seen) == n
        assert road.deliver_all() == 1
    assert seen == [Order(0), Order(1), Order(2)]
    assert road.deliver_all() == 0


def test_what_was_sent_is_known_whoever_sent_it(road: Rehearsal) -> None:
    """The test, a handler, a coroutine, a transaction; not what was rolled back or a repeat."""

    @road.handler("first")
    def first(message: Message[Order]) -> None:
        road.send("second", {"for": message.body.id}, headers={"a": "b"})

    @road.handler("second")
    async def second(_message: Message[object]) -> None:
        await road.postroad.send("third", b"\x00")

    road.handler("third")(lambda _message: None)
    for _ in range(2):
        road.send("first", Order(1), key="k")
    connection = road.connection()
    for end in ("rollback", "commit"):
        connection.execute("begin immediate")
        road.send_in(connection, "third", end)
        connection.execute(end)
    assert road.deliver_all() == 4
    road.assert_sent("first", Order(1), count=1)
    road.assert_sent("first", {"id": 1, "item": "cup"})
    (sent,) = road.assert_sent("second", {"for": 1})
    assert (sent.headers, sent.id[:4]) == ({"a": "b"}, "msg_")
    road.assert_sent("third", b"\x00", count=1)
    road.assert_sent("third", "rollback", count=0)
    road.assert_sent("third", count=2)
    assert [one.queue for one in road.sent()] == ["first", "third", "second", "third"]


def test_a_failed_assertion_shows_what_was_sent(road: Rehearsal) -> None:
    road.handler("work")(lambda _message: None)
    with pytest.raises(AssertionError, match="1 was not sent to 'work'; sent there: nothing"):
        road.assert_sent("work", 1)
    road.send_many([("work", {"a": 1}), Send("work", "b")])
    with pytest.raises(AssertionError, match=r"2 times; sent there:\n  {'a': 1}\n  'b'"):
        road.assert_sent("work", {"a": 1}, count=2)
    with pytest.raises(AssertionError, match="a message was not sent to 'work' 0 times"):
        road.assert_sent("work", count=0)


def test_an_hour_passes_at_once(road: Rehearsal) -> None:
    """Delays, retries and cron come due; the test does not wait for them."""
    tries: list[datetime] = []
    ticks: list[int] = []

    @road.handler("work", retries=2)
    async def work(_message: Message[object]) -> None:
        tries.append(road.now)
        raise ValueError("no")

    @road.every("*/15 * * * *")
    def tick() -> None:
        ticks.append(road.now.minute)

    began = time.monotonic()
    start = road.now
    assert start == datetime(2026, 1, 1, tzinfo=UTC)
    receipt = road.send("work", 1, deliver_at=start + timedelta(minutes=10))
    road.advance(599)
    assert tries == []
    road.advance(1)
    assert tries == [start + timedelta(minutes=10)]
    road.advance(50 * 60)
    assert len(tries) == 3
    assert ticks == [15, 30, 45, 0]
    assert road.now == start + timedelta(hours=1)
    (dead,) = road.dead.list().messages
    assert (dead.id, dead.reason, dead.error) == (receipt.id, "exhausted", "ValueError: no")
    assert len(road.explain(receipt.id).tries) == 3
    assert road.dead.replay(ids=[receipt.id], mode="once") == 1
    road.deliver_all()
    assert len(tries) == 4
    assert time.monotonic() - began < 250


def test_a_handler_in_the_middle_of_its_work_goes_on_later(road: Rehearsal) -> None:
    """Time stands still between two steps of a test, and a timeout counts simulated seconds."""
    steps: list[str] = []

    @road.handler("long", timeout=100, retries=0)
    async def long(message: Message[float]) -> None:
        steps.append("begun")
        await asyncio.sleep(message.body)
        steps.append("done")

    slow = road.send("long", 90)
    road.advance(60)
    assert steps == ["begun"]
    assert road.explain(slow.id).state == "sending"
    assert road.cancel(slow.id).state is CancelState.sending
    road.advance(30)
    assert steps == ["begun", "done"]
    hung = road.send("long", 1000)
    road.advance(101)
    assert "cut after 100 s" in road.explain(hung.id).tries[-1].error


def test_a_coroutine_of_the_program_is_lived_through(road: Rehearsal) -> None:
    """The road runs beside it."""
    road.handler("work")(lambda _message: None)

    async def program(road: Postroad) -> str:
        receipt = await road.send("work", 1, delay=30)
        while (await road.explain(receipt.id)).state != "delivered":
            await asyncio.sleep(1)
        return receipt.id

    number = road.run(program(road.postroad))
    assert road.explain(number).state == "delivered"
    assert (road.now - datetime(2026, 1, 1, tzinfo=UTC)).seconds in (30, 31)


@pytest.mark.parametrize("kind", [Postroad, blocking.Postroad])
def test_the_handlers_of_the_programs_own_road_are_adopted(
    road: Rehearsal, tmp_path: Path, kind: type[Postroad]
) -> None:
    """With their timetables; the program's own file is not touched."""
    own = kind(f"sqlite:///{tmp_path}/own.db")
    seen: list[object] = []

    @own.handler("picky")
    def picky(message: Message[Order]) -> None:
        if message.body.id < 0:
            raise Reject("negative")
        seen.append(message.body.id)

    @own.every("0 * * * *")
    async def hourly() -> None:
        seen.append("tick")

    road.adopt(own)
    road.send("picky", Order(7))
    road.send("picky", Order(-1))
    road.deliver_all()
    assert [dead.error for dead in road.dead.list().messages] == ["negative"]
    road.advance(3600)
    assert seen == [7, "tick"]
    assert not (tmp_path / "own.db").exists()


def test_a_handler_registered_late_is_served_too(road: Rehearsal) -> None:
    """After the road has run, as a test may do in its second half."""
    seen: list[object] = []
    road.handler("one")(lambda message: seen.append(message.body))
    road.send("one", 1)
    road.deliver_all()
    road.handler("two")(lambda message: seen.append(message.body))
    road.send("two", 2)
    road.deliver_all()
    assert seen == [1, 2]


def test_mistakes_are_named(road: Rehearsal) -> None:
    """Blocking verbs in a coroutine, time passed by a handler, an unknown queue."""
    errors: list[str] = []

    @road.handler("async")
    async def on_async(_message: Message[object]) -> None:
        try:
            road.send("async", 2)
        except BadInput as error:
            errors.append(str(error))

    @road.handler("plain")
    def on_plain(_message: Message[object]) -> None:
        try:
            road.advance(1)
        except BadInput as error:
            errors.append(str(error))
        with pytest.raises(UnknownQueue):
            road.send("nobody", 1)

    road.send("async", 1)
    road.deliver_all()
    road.send("plain", 1)
    assert road.deliver_all() == 1
    assert errors == [
        "in a coroutine use `road.postroad`, and await it",
        "let time pass from the test, not from a handler",
    ]


def test_time_jumps_to_what_comes_next(road: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulated day asked 960 times for work, in case that a ring was lost; none is lost here."""
    asked: list[float] = []
    claim = SqliteStore.claim

    async def counted(self: SqliteStore, *given: Any, **named: Any) -> Any:
        asked.append(self.clock.steady_s())
        return await claim(self, *given, **named)

    monkeypatch.setattr(SqliteStore, "claim", counted)
    days: list[datetime] = []

    @road.every("0 3 * * *")
    def daily() -> None:
        days.append(road.now)

    road.advance(timedelta(days=20))
    assert [(day.day, day.hour) for day in days] == [(n, 3) for n in range(1, 21)]
    assert 20 <= len(asked) <= 200
