"""Batches: what follows is sent once, when all members have ended, and the counts are exact."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postroad import Batch, Message, Postroad, Reject, Send, chain
from postroad.errors import BadInput, CyclicBatch, UnknownBatch, UnknownQueue


class Ledger:
    """What the handlers of a road got, in order."""

    def __init__(self, road: Postroad) -> None:
        self.got: list[str] = []
        self.headers: dict[str, dict[str, str]] = {}

        @road.handler("work", retries=0)
        async def work(message: Message) -> None:
            self.took(message)
            if str(message.body).startswith("bad"):
                raise Reject("bad")

        @road.handler("report")
        async def report(message: Message) -> None:
            self.took(message)

    def took(self, message: Message) -> None:
        self.got.append(str(message.body))
        self.headers[str(message.body)] = message.headers


@pytest.fixture
def ledger(road: Postroad) -> Ledger:
    """Made before the road is open."""
    return Ledger(road)


async def test_then_is_sent_once_when_all_were_delivered(road: Postroad, ledger: Ledger) -> None:
    sends = [Send("work", n) for n in range(30)]
    receipt = await road.batch(sends, then=Send("report", "then"), on_failure=Send("report", "bad"))
    assert (receipt.total, len(receipt.messages)) == (30, 30)
    before = await road.batches.get(receipt.id)
    assert (before.state, before.pending, before.sent) == ("open", 30, "")
    await road.run(until_idle=True)
    assert sorted(ledger.got[:-1], key=int) == [str(n) for n in range(30)]
    assert ledger.got[-1] == "then"
    assert ledger.headers["7"]["postroad-batch"] == receipt.id
    after = await road.batches.get(receipt.id)
    assert (after.state, after.delivered, after.dead, after.sent) == ("ended", 30, 0, "then")
    assert after.ended_at_ms >= after.made_at_ms


async def test_a_dead_member_ends_too_and_then_is_sent(road: Postroad, ledger: Ledger) -> None:
    receipt = await road.batch([("work", 1), ("work", "bad")], then=Send("report", "then"))
    await road.run(until_idle=True)
    assert ledger.got.count("then") == 1
    status = await road.batches.get(receipt.id)
    assert (status.delivered, status.dead, status.sent) == (1, 1, "then")


async def test_after_a_failure_on_failure_is_sent_instead(road: Postroad, ledger: Ledger) -> None:
    follow: dict[str, Any] = {
        "then": Send("report", "then"),
        "on_failure": Send("report", "failed"),
    }
    receipt = await road.batch([("work", 1), ("work", "bad")], **follow)
    await road.run(until_idle=True)
    assert "then" not in ledger.got
    assert ledger.got.count("failed") == 1
    assert (await road.batches.get(receipt.id)).sent == "on_failure"


async def test_a_cancelled_member_ends_its_batch(road: Postroad, ledger: Ledger) -> None:
    later = [Send("work", n, delay=3600) for n in range(3)]
    receipt = await road.batch(later, then=Send("report", "then"))
    for message in receipt.messages:
        assert (await road.cancel(message.id)).state == "cancelled"
    await road.run(until_idle=True)
    assert ledger.got == ["then"]
    status = await road.batches.get(receipt.id)
    assert (status.state, status.cancelled, status.pending) == ("ended", 3, 0)


async def test_all_of_a_queue_cancelled_ends_its_batches(road: Postroad, ledger: Ledger) -> None:
    later = [Send("work", n, delay=3600) for n in range(20)]
    receipt = await road.batch(later, then=Send("report", "then"))
    assert (await road.cancel_all("work")).cancelled == 20
    await road.run(until_idle=True)
    assert ledger.got == ["then"]
    assert (await road.batches.get(receipt.id)).cancelled == 20


async def test_an_expired_member_ends_its_batch(road: Postroad, ledger: Ledger) -> None:
    await road.pause("work")
    soon = datetime.now(UTC) + timedelta(seconds=2)
    late = Send("work", 1, expires_at=soon)
    receipt = await road.batch([late], then=Send("report", "then"))
    while (await road.batches.get(receipt.id)).state != "ended":
        _ = await road.store.sweep(100)
        await road.store.clock.sleep(0.05)
    await road.run(until_idle=True)
    assert ledger.got == ["then"]
    assert (await road.batches.get(receipt.id)).dead == 1


async def test_a_replayed_member_is_not_counted_again(road: Postroad, ledger: Ledger) -> None:
    receipt = await road.batch([("work", "bad"), ("work", 1)], then=Send("report", "then"))
    await road.run(until_idle=True)
    assert (await road.dead.replay(ids=[receipt.messages[0].id])) == 1
    await road.run(until_idle=True)
    assert ledger.got.count("bad") == 2
    assert ledger.got.count("then") == 1
    status = await road.batches.get(receipt.id)
    assert (status.delivered, status.dead) == (1, 1)


async def test_an_empty_batch_ends_at_once(road: Postroad, ledger: Ledger) -> None:
    receipt = await road.batch([], then=Send("report", "then"))
    await road.run(until_idle=True)
    assert ledger.got == ["then"]
    assert (await road.batches.get(receipt.id)).state == "ended"


async def test_a_chain_goes_one_after_the_other(road: Postroad, ledger: Ledger) -> None:
    receipt = await road.chain([("work", "a"), ("work", "b"), ("report", "c")])
    await road.run(until_idle=True)
    assert ledger.got == ["a", "b", "c"]
    assert (await road.batches.get(receipt.id)).state == "ended"


async def test_a_chain_stops_at_a_failure(road: Postroad, ledger: Ledger) -> None:
    steps = [("work", "a"), ("work", "bad"), ("work", "c"), ("work", "d")]
    await road.chain(steps, on_failure=Send("report", "failed"))
    await road.run(until_idle=True)
    assert ledger.got == ["a", "bad", "failed"]
    states = {one.state for one in (await road.batches.list()).batches}
    assert states == {"ended", "skipped"}


async def test_a_chain_without_on_failure_just_stops(road: Postroad, ledger: Ledger) -> None:
    await road.chain([("work", "bad"), ("work", "b")])
    await road.run(until_idle=True)
    assert ledger.got == ["bad"]


async def test_nested_batches_end_with_what_follows_them(road: Postroad, ledger: Ledger) -> None:
    inner = Batch([("work", "x"), ("work", "y")], then=("report", "inner"))
    steps = chain([("work", "1"), ("work", "2")])
    receipt = await road.batch([inner, steps, ("work", "z")], then=("report", "outer"))
    assert receipt.total == 3
    await road.run(until_idle=True)
    assert ledger.got[-1] == "outer"
    assert sorted(ledger.got) == ["1", "2", "inner", "outer", "x", "y", "z"]
    assert ledger.got.index("inner") > max(ledger.got.index("x"), ledger.got.index("y"))
    status = await road.batches.get(receipt.id)
    assert (status.state, status.delivered, status.total) == ("ended", 3, 3)


async def test_a_batch_may_follow_a_batch(road: Postroad, ledger: Ledger) -> None:
    second = Batch([("work", "c"), ("work", "d")], then=("report", "last"))
    outer = Batch([("work", "a"), ("work", "b")], then=second, on_failure=Batch([("report", "no")]))
    receipt = await road.batch([outer, Batch([])], then=("report", "end"))
    await road.run(until_idle=True)
    assert sorted(ledger.got[:2]) == ["a", "b"]
    assert sorted(ledger.got[2:4]) == ["c", "d"]
    assert ledger.got[4:] == ["last", "end"]
    assert (await road.batches.get(receipt.id)).delivered == 2


async def test_a_failed_nested_batch_counts_as_dead(road: Postroad, ledger: Ledger) -> None:
    inner = chain([("work", "bad"), ("work", "never")])
    receipt = await road.batch(
        [inner, ("work", "ok")], then=("report", "t"), on_failure=("report", "f")
    )
    await road.run(until_idle=True)
    assert sorted(ledger.got) == ["bad", "f", "ok"]
    status = await road.batches.get(receipt.id)
    assert (status.delivered, status.dead) == (1, 1)


async def test_a_large_batch_is_stored_in_slices(road: Postroad, ledger: Ledger) -> None:
    receipt = await road.batch([("work", n) for n in range(4_100)], then=("report", "then"))
    await road.run(until_idle=True)
    assert ledger.got[-1] == "then"
    assert len(set(ledger.got)) == len(ledger.got) == 4_101
    status = await road.batches.get(receipt.id)
    assert (status.state, status.delivered) == ("ended", 4_100)


async def test_what_follows_may_wait(road: Postroad, ledger: Ledger) -> None:
    receipt = await road.batch([("work", 1)], then=Send("report", "then", delay=3600))
    await road.run(until_idle=True)
    assert ledger.got == ["1"]
    assert (await road.batches.get(receipt.id)).sent == "then"
    (waiting,) = (await road.messages.list(queue="report")).messages
    assert waiting.state == "waiting"


async def test_bad_input_stores_nothing(road: Postroad, ledger: Ledger) -> None:
    good = ("work", 1)
    with pytest.raises(UnknownQueue, match="no handler 'nobody'"):
        await road.batch([good], then=Send("nobody", 1))
    with pytest.raises(UnknownQueue):
        await road.batch([good, ("nobody", 1)])
    members: list[Any] = [good]
    members.append(Batch(members))
    with pytest.raises(CyclicBatch, match="contains itself"):
        await road.batch(members)
    with pytest.raises(BadInput, match="has no key"):
        await road.batch([Send("work", 1, key="k")])
    with pytest.raises(BadInput, match="one tenant"):
        await road.batch([good, Send("work", 1, tenant="other")])
    with pytest.raises(BadInput, match="give a list"):
        await road.batch("work")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="give a Send"):
        await road.batch([1])  # type: ignore[list-item]
    with pytest.raises(BadInput, match="without steps"):
        await road.chain([])
    with pytest.raises(UnknownBatch, match="not a batch's id"):
        await road.batches.get("msg_1")
    assert (await road.batches.list()).batches == ()
    await road.run(until_idle=True)
    assert ledger.got == []


@pytest.mark.usefixtures("ledger")
async def test_tenants_do_not_see_each_others_batches(road: Postroad) -> None:
    receipt = await road.batch([Send("work", 1)], then=Send("report", 2))
    with pytest.raises(UnknownBatch):
        await road.batches.get(receipt.id, tenant="other")
    assert (await road.batches.list(tenant="other")).batches == ()


async def test_a_member_that_a_reader_acks_ends_its_batch(road: Postroad) -> None:
    made = await road.endpoints.create(pull=True)
    queue = f"endpoint:{made.id}"
    receipt = await road.batch([Send(queue, 1)], then=Send(queue, 2))
    (member,) = (await road.endpoints.feed(made.id)).messages
    assert (await road.endpoints.ack(made.id, [member.id])).acked == 1
    while not (follows := (await road.endpoints.feed(made.id)).messages):
        await road.store.clock.sleep(0.05)
    assert [one.body for one in follows] == ["2"]
    status = await road.batches.get(receipt.id)
    assert (status.state, status.delivered, status.sent) == ("ended", 1, "then")


async def test_what_follows_a_failed_nested_batch_answers_for_it(
    road: Postroad, ledger: Ledger
) -> None:
    inner = Batch([("work", "bad")], then=("report", "inner"))
    sent = await road.batch([inner], then=("report", "outer"), on_failure=("report", "failed"))
    await road.run(until_idle=True)
    assert ledger.got == ["bad", "inner", "outer"]
    assert "its `then` was sent" in (await road.batches.get(sent.id)).sentence


@pytest.mark.usefixtures("ledger")
async def test_a_batch_whose_sender_is_gone_says_so(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(_batches: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(road.store, "batch_seal", gone)
    monkeypatch.setattr("postroad.verbs.batch_planning.SLICE", 2)
    with pytest.raises(ConnectionError):
        _ = await road.batch([("work", n) for n in range(5)])
    (found,) = (await road.batches.list()).batches
    assert found.state == "filling"
    assert "given up 1 h after it was begun" in found.sentence
