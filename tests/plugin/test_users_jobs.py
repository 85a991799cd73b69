"""Batches, chains, progress, cancelling and handlers that get a list, as a user's tests have them: in
simulated time."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from postroad import Message, Reject, Send, Some
from postroad.errors import JobFailed, NoResult
from postroad.testing import Rehearsal


@pytest.fixture
def shop(road: Rehearsal) -> Rehearsal:
    """With a handler that keeps results, one that reports, and one that takes a day."""

    @road.handler("double", result_ttl=3_600, retries=1)
    async def double(number: int) -> int:
        if number < 0:
            raise Reject("a negative number")
        return 2 * number

    @road.handler("slow", timeout=timedelta(days=2))
    async def slow(message: Message[int]) -> None:
        for hour in range(24):
            message.progress(hour, 24, f"hour {hour}")
            await asyncio.sleep(3_600)

    @road.handler("told")
    def told(message: Message[str]) -> None: ...

    return road


def test_a_batch_that_has_ended_is_waited_for_and_its_results_are_read(shop: Rehearsal) -> None:
    batch = shop.batch([("double", 1), ("double", -1), ("double", 3)], then=("told", "all"))
    assert shop.deliver_all() == 3  # two of them, and what follows
    status = shop.batches.wait(batch.id, timeout=5)
    assert (status.state, status.delivered, status.dead, status.sent) == ("ended", 2, 1, "then")
    one, bad, three = batch.messages
    assert [shop.jobs.result(each.id) for each in (one, three)] == [2, 6]
    with pytest.raises(JobFailed, match="a negative number"):
        shop.jobs.result(bad.id)
    (follower,) = shop.assert_sent("told", "all", count=1)
    assert shop.explain(follower.id).state == "delivered"


def test_a_result_is_gone_after_its_time(shop: Rehearsal) -> None:
    receipt = shop.send("double", 4)
    shop.deliver_all()
    assert shop.jobs.result(receipt.id) == 8
    shop.advance(timedelta(hours=2))
    with pytest.raises(NoResult):
        shop.jobs.result(receipt.id)


def test_a_batch_is_waited_for_while_days_pass(shop: Rehearsal) -> None:
    shop.deliver_all()
    begun = shop.now
    batch = shop.batch([("slow", 1), Send("told", "later", delay=timedelta(days=3))])
    shop.deliver_all()
    assert shop.batches.wait(batch.id, timeout=timedelta(days=1, hours=1)).pending == 1
    assert shop.batches.wait(batch.id, timeout=timedelta(days=9)).state == "ended"
    assert timedelta(days=3) <= shop.now - begun < timedelta(days=4)


def test_a_chain_goes_on_as_time_passes_and_stops_at_a_failure(shop: Rehearsal) -> None:
    steps = [("slow", 1), ("double", -1), ("told", "never")]
    chained = shop.chain(steps, on_failure=("told", "sorry"))
    shop.advance(timedelta(hours=23))
    shop.assert_sent("double", count=0)
    shop.advance(timedelta(hours=2))
    shop.assert_sent("double", -1, count=1)
    shop.assert_sent("told", "never", count=0)
    shop.assert_sent("told", "sorry", count=1)
    assert shop.batches.wait(chained.id, timeout=5).over


def test_progress_is_read_while_a_job_runs(shop: Rehearsal) -> None:
    receipt = shop.send("slow", 1)
    shop.advance(timedelta(hours=5, minutes=1))
    (running,) = shop.jobs.running()
    assert (running.id, running.progress.done, running.progress.note) == (receipt.id, 5.0, "hour 5")
    shop.advance(timedelta(days=1))
    assert shop.jobs.running() == ()


def test_a_running_job_is_cancelled(shop: Rehearsal) -> None:
    receipt = shop.send("slow", 1)
    shop.advance(3_600)
    assert shop.explain(receipt.id).state == "sending"
    assert shop.cancel(receipt.id, running=True).state == "cancelled"
    shop.advance(timedelta(days=2))
    assert shop.explain(receipt.id).state == "cancelled"


def test_a_batch_is_cancelled_with_the_members_that_run(shop: Rehearsal) -> None:
    members = [Send("slow", 1), Send("double", 1, delay=timedelta(hours=2))]
    batch = shop.batch(members, then=("told", "done"), on_failure=("told", "stopped"))
    shop.advance(3_600)
    status = shop.batches.cancel(batch.id, running=True)
    assert (status.state, status.cancelled, status.sent) == ("ended", 2, "on_failure")
    shop.advance(timedelta(days=2))
    shop.assert_sent("told", "done", count=0)
    shop.assert_sent("told", "stopped", count=1)


def test_a_handler_gets_a_list_when_it_is_full_or_its_time_is_over(tmp_path: Path) -> None:
    with Rehearsal(tmp_path / "road.db") as road:
        got: list[list[int]] = []

        @road.handler("index", batch=3, within=10, retries=1)
        async def index(messages: list[Message[int]]) -> None:
            got.append([message.body for message in messages])
            bad = [message for message in messages if message.body < 0]
            if bad:
                raise Some(failed=[message.id for message in bad])

        road.send_many([("index", number) for number in range(4)])
        road.advance(1)
        assert [len(one) for one in got] == [3]
        road.advance(10)
        assert sorted(number for one in got for number in one) == [0, 1, 2, 3]
        assert [len(one) for one in got] == [3, 1]
        receipts = road.send_many([("index", 7), ("index", -7)])
        road.advance(11)
        assert [road.explain(one.id).state for one in receipts] == ["delivered", "waiting"]
        road.advance(timedelta(hours=1))
        assert got.count([-7]) == 1
        assert road.explain(receipts[1].id).state == "dead"
