"""What a user's tests look like, with types: mypy reads this file as strictly as the tree. Jobs with
results, batches and timetables run in simulated time."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import Struct

from postroad import Message, Postroad
from postroad.errors import BadInput, JobFailed
from postroad.testing import Rehearsal, Sent

app = Postroad("sqlite:///never-made.db")


class Photo(Struct):
    id: int
    width: int = 100


@app.handler("resize", result_ttl=3_600, retries=1)
async def resize(photo: Photo) -> int:
    if photo.width <= 0:
        raise ValueError("no such width")
    return photo.width // 2


@app.handler("report")
def report(message: Message[dict[str, str]]) -> None:
    logging.getLogger("reports").info("a report for %s", message.body["for"])


@app.every("0 3 * * *", tz="Europe/Berlin")
async def tidy() -> None:
    await report.send({"for": "nobody"})


@pytest.fixture
def shop(road: Rehearsal) -> Rehearsal:
    """The road of the test, with the handlers of the program."""
    road.adopt(app)
    return road


def test_a_result_is_waited_for_in_no_time(shop: Rehearsal) -> None:
    receipt = shop.send("resize", Photo(1, 90))
    assert receipt.result(timeout=5) == 45
    bad = shop.send("resize", Photo(2, 0))
    with pytest.raises(JobFailed, match="no such width"):
        bad.result(timeout=timedelta(days=30))


def test_what_follows_a_batch_comes_after_all_of_it(shop: Rehearsal) -> None:
    photos = [("resize", Photo(n)) for n in range(3)]
    batch = shop.batch(photos, then=("report", {"for": "ann"}))
    shop.assert_sent("resize", count=3)
    shop.assert_sent("report", count=0)
    assert shop.deliver_all() == 4
    shop.assert_sent("report", {"for": "ann"}, count=1)
    assert shop.batches.get(batch.id).delivered == 3


def test_a_timetable_of_the_program_comes_at_its_time(shop: Rehearsal) -> None:
    shop.advance(timedelta(hours=27))
    ticks: list[Sent] = shop.sent("cron:tidy")
    assert [one.due.hour for one in ticks] == [2, 2]  # UTC
    shop.assert_sent("report", {"for": "nobody"}, count=2)


def test_a_timetable_is_made_changed_and_paused_while_time_passes(shop: Rehearsal) -> None:
    made = shop.timetables.create(
        "daily", "report", {"for": "bob"}, cron="0 9 * * *", zone="Europe/Berlin"
    )
    assert datetime.fromtimestamp((made.next_at_ms or 0) / 1000, UTC).hour == 8
    shop.advance(timedelta(hours=33))
    shop.assert_sent("report", contains={"for": "bob"}, count=2)
    shop.timetables.change("daily", every=timedelta(hours=1), body={"for": "cid"})
    shop.advance(timedelta(hours=2))
    shop.assert_sent("report", {"for": "cid"}, count=2)
    shop.timetables.pause("daily")
    shop.advance(timedelta(hours=5))
    shop.timetables.run_now("daily")
    shop.assert_sent("report", {"for": "cid"}, count=3)
    shop.timetables.resume("daily")
    shop.advance(timedelta(hours=1))
    shop.assert_sent("report", {"for": "cid"}, count=4)


def test_what_was_sent_is_chosen_by_what_it_is(shop: Rehearsal) -> None:
    shop.send("report", {"for": "ann", "by": {"name": "bob", "age": 7}}, key="k", priority=3)
    shop.send("report", {"for": "cid"}, headers={"x-shop": "1", "y": "2"}, delay=60)
    shop.send("resize", Photo(1), order_key="o", tenant="acme")
    shop.send("resize", Photo(1), replace="r", delay=5)

    def bodies(found: list[Sent]) -> list[object]:
        return [one.body for one in found]

    small = {"id": 1, "width": 100}
    assert len(shop.sent()) == 4
    assert bodies(shop.sent("resize", Photo(1))) == [small, small]
    assert bodies(shop.sent(prefix="res", tenant="acme")) == [small]
    assert bodies(shop.sent(headers={"x-shop": "1"})) == [{"for": "cid"}]
    assert [one.key for one in shop.sent(contains={"by": {"age": 7}})] == ["k"]
    assert shop.sent(contains={"by": {"age": 8}}) == []
    assert shop.sent(contains={"by": {"name": {"first": "bob"}}}) == []
    assert [one.queue for one in shop.sent(key="k", priority=3)] == ["report"]
    assert [one.tenant for one in shop.sent(order_key="o")] == ["acme"]
    (late,) = shop.sent("report", where=lambda one: one.due > shop.now)
    assert late.due - shop.now == timedelta(seconds=60)
    assert [one.key for one in shop.sent("resize")] == ["", ""]
    with pytest.raises(
        AssertionError, match=r"a message was not sent to 'report' with key 2 times"
    ):
        shop.assert_sent("report", key="k", count=2)
    with pytest.raises(BadInput, match=r"there is no prefx=.*prefix"):
        shop.sent(prefx="res")  # type: ignore[call-arg]
