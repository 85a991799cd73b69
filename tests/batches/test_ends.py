"""A batch as a whole is waited for and cancelled."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from postroad import Batch, Message, Postroad, Send, chain, sync
from postroad.errors import UnknownBatch
from postroad.remote.batch_tables import _nested
from postroad.verbs import batches, ending
from tests.batches.test_batches import Ledger
from tests.remote.test_verbs import roads

WAIT_S = 150.0


@pytest.fixture
def ledger(road: Postroad) -> Ledger:
    """Made before the road is open."""
    return Ledger(road)


async def test_the_end_of_a_batch_is_waited_for(
    road: Postroad, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rung for: whoever waits would look again by himself only after an hour."""
    monkeypatch.setattr(ending, "LOOK_S", 3600.0)
    monkeypatch.setattr(ending, "SOON_S", 3600.0)
    receipt = await road.batch([("work", 1), ("work", "bad")], then=("report", "then"))
    early = await road.batches.wait(receipt.id, timeout=0)
    assert (early.state, early.pending) == ("open", 2)
    waiting = asyncio.create_task(road.batches.wait(receipt.id, timeout=WAIT_S))
    await road.run(until_idle=True)
    status = await waiting
    assert (status.state, status.delivered, status.dead) == ("ended", 1, 1)
    assert ledger.got.count("then") == 1


async def test_a_chain_is_waited_for_to_its_last_step(road: Postroad, ledger: Ledger) -> None:
    receipt = await road.chain([("work", 1), ("work", 2), ("work", "bad"), ("work", 4)])
    waiting = asyncio.create_task(road.batches.wait(receipt.id, timeout=WAIT_S))
    while not waiting.done():
        await road.run(until_idle=True)
    status = await waiting
    assert status.id != receipt.id
    assert (status.state, status.dead, status.next) == ("ended", 1, "")
    assert ledger.got == ["1", "2", "bad"]


async def test_a_cancelled_batch_ends_and_only_its_on_failure_follows(
    road: Postroad, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "CANCELLED_AT_ONCE", 3)
    later = [Send("work", n, delay=3600) for n in range(7)]
    inner = Batch([Send("work", "inner", delay=3600)], then=("report", "inner then"))
    plain = await road.batch([*later, inner], then=("report", "then"))
    caught = await road.batch(later, then=("report", "then"), on_failure=("report", "failed"))
    status = await road.batches.cancel(plain.id, wait=WAIT_S)
    assert (status.state, status.cancelled, status.sent) == ("ended", 8, "")
    status = await road.batches.cancel(caught.id, wait=WAIT_S)
    assert (status.state, status.cancelled, status.sent) == ("ended", 7, "on_failure")
    await road.run(until_idle=True)
    assert ledger.got == ["failed"]
    again = await road.batches.cancel(plain.id)
    assert (again.state, again.cancelled) == ("ended", 8)
    with pytest.raises(UnknownBatch):
        await road.batches.cancel(plain.id, tenant="other")


async def test_what_follows_a_cancelled_batch_is_not_cancelled_with_it(
    road: Postroad, ledger: Ledger
) -> None:
    """Nor by a second cancel, as a remote road sends that waits: what was to undo was never run."""
    undo = Batch([("report", "undo 1"), ("report", "undo 2")])
    plain = await road.batch([Send("work", 1, delay=3600)], on_failure=undo)
    inner = Batch([Send("work", 2, delay=3600)], on_failure=Send("report", "undo inner", delay=0.1))
    deep = Batch([Send("work", 3, delay=3600)], on_failure=Batch([("report", "undo deep")]))
    outer = await road.batch([inner, deep, Send("work", 4, delay=3600)], on_failure=("report", "o"))
    for _ in range(2):
        status = await road.batches.cancel(plain.id, wait=WAIT_S)
        assert (status.id, status.cancelled, status.sent) == (plain.id, 1, "on_failure")
        status = await road.batches.cancel(outer.id, wait=0)
        assert (status.id, status.state) == (outer.id, "open")
    async with asyncio.timeout(WAIT_S):
        running = asyncio.create_task(road.run())
        status = await road.batches.cancel(outer.id, wait=WAIT_S)
        road.stop()
        await running
    assert (status.cancelled, status.sent) == (1, "on_failure")
    await road.run(until_idle=True)
    assert sorted(ledger.got) == ["o", "undo 1", "undo 2", "undo deep", "undo inner"]


async def test_members_that_run_are_stopped_with_their_batch(road: Postroad) -> None:
    begun = asyncio.Event()

    @road.handler("endless")
    async def endless(_message: Message) -> None:
        begun.set()
        await asyncio.sleep(3600)

    receipt = await road.batch([("endless", 1), Send("endless", 2, delay=3600)])
    async with asyncio.timeout(WAIT_S):
        running = asyncio.create_task(road.run())
        await begun.wait()
        status = await road.batches.cancel(receipt.id, running=True, wait=WAIT_S)
        assert (status.state, status.cancelled) == ("ended", 2)
        road.stop()
        await running


async def test_a_chain_is_cancelled_at_the_step_that_it_is_at(
    road: Postroad, ledger: Ledger
) -> None:
    receipt = await road.chain([("work", 1), Send("work", 2, delay=3600), ("work", 3)])
    await road.run(until_idle=True)
    status = await road.batches.cancel(receipt.id, wait=WAIT_S)
    assert (status.state, status.cancelled, status.sent) == ("ended", 1, "")
    await road.run(until_idle=True)
    assert ledger.got == ["1"]


@pytest.mark.parametrize("how", ["http", "window"])
async def test_a_remote_road_waits_and_cancels(tmp_path: Path, how: str) -> None:
    async with roads(tmp_path, how) as (near, far, _):

        @near.handler("work")
        async def work(_message: Message) -> None: ...

        done = await far.batch([("work", 1)])
        steps = chain([Send("work", 1, delay=3600), ("work", 2)], on_failure=("work", 3))
        late = await far.batches.put(steps)
        await near.run(until_idle=True)
        assert (await far.batches.wait(done.id, timeout=WAIT_S)).delivered == 1
        assert (await far.batches.wait(late.id, timeout=0.01)).pending == 1
        status = await far.batches.cancel(late.id, wait=WAIT_S)
        assert (status.state, status.cancelled, status.sent) == ("ended", 1, "on_failure")


def test_a_chain_goes_over_the_wire_with_what_follows_a_failure_once() -> None:
    """With each of its steps before: 100 steps had it a hundred times."""
    sent = _nested(chain([("work", n) for n in range(100)], on_failure=("work", "x" * 1000)), ())
    assert len(msgspec.json.encode(sent)) < 10_000
    assert (len(sent["steps"]), list(sent)) == (100, ["steps", "on_failure"])


def test_a_batch_is_waited_for_and_cancelled_without_await(tmp_path: Path) -> None:
    with sync.Postroad(f"sqlite:///{tmp_path}/road.db") as road:

        @road.handler("work")
        def work(_message: Message) -> None: ...

        done, late = road.batch([("work", 1)]), road.batch([Send("work", 1, delay=3600)])
        road.run(until_idle=True)
        assert road.batches.wait(done.id, timeout=WAIT_S).delivered == 1
        assert road.batches.cancel(late.id, wait=WAIT_S).cancelled == 1
