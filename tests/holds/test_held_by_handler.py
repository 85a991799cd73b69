"""A handler that meets a closed account stops its queue, or its order key, not one message at a
time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postroad import HoldKey, HoldQueue, Message, Postroad, Send
from postroad.errors import BadTime
from postroad.model.held_by_handler import Hold
from postroad.testing.rehearsal import Rehearsal


async def test_a_held_queue_is_asked_once_until_somebody_unblocks_it(road: Postroad) -> None:
    called: list[object] = []
    closed = True

    @road.handler("bank", concurrency=1)
    async def bank(message: Message) -> None:
        called.append(message.body)
        if closed:
            raise HoldQueue(datetime.now(UTC) + timedelta(hours=1), "the account is closed")

    other: list[object] = []

    @road.handler("other")
    async def elsewhere(message: Message) -> None:
        other.append(message.body)

    await road.send_many([Send("bank", n, order_key="one") for n in range(10)])
    await road.send("other", 1)
    await road.run(until_idle=True)
    assert called == [0]
    assert other == [1]
    told = await road.explain_queue("bank")
    assert told.because == "handler: the account is closed"
    assert "its handler holds it" in told.next.why
    assert "quota" not in told.sentence
    listed = (await road.inspect.queues()).queues
    assert {one.queue: one.because for one in listed}["bank"] == told.because
    closed = False
    await road.unblock("bank")
    await road.run(until_idle=True)
    assert called == [0, *range(10)]


async def test_a_held_key_stops_its_own_messages_alone(road: Postroad) -> None:
    called: list[str] = []

    @road.handler("bank")
    async def bank(message: Message[str]) -> None:
        called.append(message.body)
        if message.body == "a0":
            raise HoldKey(timedelta(hours=1), "the account is closed")

    sends = [Send("bank", f"{key}{n}", order_key=key) for n in range(3) for key in "ab"]
    receipts = await road.send_many(sends)
    await road.run(until_idle=True)
    assert called.count("a0") == 1
    assert [one for one in called if one.startswith("b")] == ["b0", "b1", "b2"]
    assert not {"a1", "a2"} & set(called)
    said = await road.explain(receipts[0].id)
    assert "the account is closed" in str(said)
    assert said.level == 0


def test_a_hold_ends_by_the_clock(tmp_path: Path) -> None:
    with Rehearsal(tmp_path / "road.db") as road:
        called: list[object] = []

        @road.handler("bank")
        async def bank(message: Message) -> None:
            called.append(message.body)
            if len(called) == 1:
                raise HoldQueue(600, "closed for ten minutes")

        road.send("bank", 1)
        road.deliver_all()
        road.send("bank", 2)
        road.advance(590)
        assert called == [1]
        road.advance(30)
        assert sorted(map(str, called)) == ["1", "1", "2"]


def test_a_hold_that_has_ended_lasts_a_second() -> None:
    assert Hold(5_000, 0).end_ms(9_000) == 10_000
    assert Hold(50_000, 0).end_ms(9_000) == 50_000
    assert Hold(0, 3_000).end_ms(9_000) == 12_000


def test_a_queue_that_is_held_again_and_again_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    called = 0
    with Rehearsal(tmp_path / "road.db") as road:

        @road.handler("bank", concurrency=1)
        async def bank(_: Message) -> None:
            nonlocal called
            called += 1
            if called % 2:
                raise HoldQueue(3, "closed")

        for n in range(100):
            road.send("bank", n)
        with caplog.at_level("INFO"):
            road.advance(600)
    assert called == 200
    assert [one.message.split()[:2] for one in caplog.records] == [["queue", "held"]]


@pytest.mark.parametrize(
    "until", [datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)]
)
def test_an_end_of_all_times_is_within_a_century(tmp_path: Path, until: datetime) -> None:
    """The log, and whoever is told, can write down when a hold ends."""
    with Rehearsal(tmp_path / "road.db") as road:

        @road.handler("bank")
        async def bank(_: Message) -> None:
            raise HoldQueue(until, "closed for good")

        road.send("bank", 1)
        road.advance(0.5)
        assert road.explain_queue("bank").because == "handler: closed for good"


@pytest.mark.parametrize("until", [-1, float("nan"), "noon", datetime(2026, 1, 1), True])  # noqa: DTZ001
def test_an_end_that_is_none_is_refused(until: object) -> None:
    for kind in (HoldQueue, HoldKey):
        with pytest.raises(BadTime, match="give"):
            kind(until)  # type: ignore[arg-type]
