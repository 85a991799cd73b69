"""Leases: a lane has one owner, who gives it back, or is declared dead and leaves a trace."""

import os
import socket

import pytest
from msgspec.structs import replace

from postroad.model.control import CancelState
from postroad.model.dead import DeadFilter, ReplayMode
from postroad.model.decide import Move
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.record import LostWorker, Release
from postroad.model.states import NEVER
from tests.contract.bench import Bench
from tests.contract.ground import LEASE_MS


async def test_every_process_gets_a_number_of_its_own(bench: Bench) -> None:
    numbers = [await bench.store.join() for _ in range(4)]
    for number in numbers:
        await bench.store.leave(number)
    numbers += [await bench.store.join() for _ in range(4)]
    assert numbers == sorted(set(numbers))


async def test_a_released_lane_is_ready_when_each_of_its_levels_is(bench: Bench) -> None:
    queue = await bench.queue()
    for _ in range(3):
        await bench.send(queue)
    lane = await bench.take()
    one, two, three = await bench.due(lane.id)
    await bench.became(one, Move.wait, after_s=5)
    await bench.became(two, Move.climb, level=2, after_s=600)
    await bench.became(three, Move.climb, level=2, after_s=300)
    assert await bench.release(lane) == {0: bench.at(5), 2: bench.at(300)}
    ahead = (await bench.claim()).next_at_ms
    assert {level: at_ms for level, at_ms in ahead.items() if at_ms < NEVER} == {
        0: bench.at(5),
        2: bench.at(300),
    }
    await bench.advance(5)
    assert (await bench.only((await bench.take()).id)).id == one.id


async def test_a_lane_released_with_work_in_it_can_be_claimed_at_once(bench: Bench) -> None:
    sent = await bench.send(await bench.queue())
    lane = await bench.take()
    await bench.release(lane)
    assert (await bench.only((await bench.take()).id)).id == sent


async def test_a_lane_released_empty_sleeps_until_something_arrives(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.deliver)
    assert await bench.release(lane) == {}
    assert (await bench.claim()).lanes == []
    await bench.send(queue)
    await bench.take()


async def test_several_lanes_are_released_at_once(bench: Bench) -> None:
    for name in "ab":
        await bench.send(await bench.queue(name))
    lanes = (await bench.claim()).lanes
    await bench.store.release(bench.owner, [Release(lane.id, lane.epoch) for lane in lanes])
    assert len((await bench.claim()).lanes) == 2


async def test_a_lane_given_back_is_no_longer_suspect(bench: Bench) -> None:
    await bench.send(await bench.queue())
    await bench.take()
    await bench.vanish()
    lane = await bench.take()
    assert lane.crashes == 1
    await bench.release(lane)
    assert (await bench.take()).crashes == 0


async def test_the_lanes_of_a_silent_owner_are_freed_and_its_lost_lease_counted(
    bench: Bench,
) -> None:
    sent = await bench.send(await bench.queue())
    await bench.take()
    for lost in (1, 2, 3):
        await bench.advance(LEASE_MS / 1000 + 1)
        reaped = await bench.store.reap(LEASE_MS)
        assert (reaped.lost, reaped.owned) == (1, False)
        assert reaped.workers == (LostWorker(socket.gethostname(), os.getpid(), 1),)
        bench.owner = await bench.store.join()
        lane = await bench.take()
        assert lane.crashes == lost
        assert (await bench.only(lane.id)).id == sent


async def test_an_owner_that_is_heard_keeps_its_lanes(bench: Bench) -> None:
    await bench.send(await bench.queue())
    await bench.take()
    for _ in range(3):
        await bench.advance(LEASE_MS / 1000 - 1)
        assert await bench.store.beat(bench.owner)
        reaped = await bench.store.reap(LEASE_MS)
        assert (reaped.lost, reaped.owned) == (0, True)
    assert (await bench.claim()).lanes == []


async def test_only_the_silent_owner_is_reaped(bench: Bench) -> None:
    for name in "ab":
        await bench.send(await bench.queue(name))
    other = await bench.store.join()
    mine = (await bench.claim(limit=1)).lanes[0]
    theirs = (await bench.claim(owner=other)).lanes[0]
    await bench.advance(LEASE_MS / 1000 + 1)
    await bench.store.beat(other)
    assert (await bench.store.reap(LEASE_MS)).lost == 1
    assert [lane.id for lane in (await bench.claim(owner=other)).lanes] == [mine.id]
    assert mine.id != theirs.id


async def test_an_owner_that_comes_back_from_the_dead_can_die_again(bench: Bench) -> None:
    # Else a lane that it claims after all would be nobody's for good.
    queue = await bench.queue()
    await bench.send(queue)
    await bench.take()
    old = await bench.vanish()
    await bench.claim(owner=old)
    await bench.vanish()
    assert (await bench.take()).id == queue.lanes[0]


async def test_an_owner_declared_dead_hears_of_it_though_it_claimed_since(bench: Bench) -> None:
    # Else it goes on serving the lanes that it lost, beside their new owner.
    one, two = await bench.queue("a"), await bench.queue("b")
    await bench.send(one)
    await bench.take()
    old = await bench.vanish()
    await bench.take()
    await bench.send(two)
    await bench.claim(owner=old)
    assert not await bench.store.beat(old)


async def test_an_owner_declared_dead_holds_what_it_claimed_since(bench: Bench) -> None:
    # It may be in flight already: given back, it would be sent twice.
    one, two = await bench.queue("a"), await bench.queue("b")
    await bench.send(one)
    lost = await bench.take()
    old = await bench.vanish()
    await bench.send(two)
    (since,) = [lane for lane in (await bench.claim(owner=old)).lanes if lane.id != lost.id]
    held = await bench.store.held(old)
    assert (since.id, since.epoch) in held
    assert (lost.id, lost.epoch) not in held


async def test_a_process_that_owned_nothing_for_days_can_claim_and_beat(bench: Bench) -> None:
    await bench.advance(9 * 86_400)
    await bench.store.retain(86_400_000, 86_400_000)
    await bench.send(await bench.queue())
    await bench.take()
    assert await bench.store.beat(bench.owner)
    assert (await bench.store.reap(LEASE_MS)).lost == 0


async def test_what_a_lost_answer_gave_is_disowned(bench: Bench) -> None:
    for name in "abc":
        await bench.send(await bench.queue(name))
    known = (await bench.claim(limit=1)).lanes[0]
    unheard = (await bench.claim()).lanes
    await bench.store.disown(bench.owner, [known.id])
    again = (await bench.claim()).lanes
    assert {lane.id for lane in again} == {lane.id for lane in unheard}
    assert [lane.crashes for lane in again] == [0, 0]
    assert await bench.store.mark(bench.owner, known, [])


async def test_nobody_disowns_the_lanes_of_another(bench: Bench) -> None:
    await bench.send(await bench.queue())
    await bench.take()
    await bench.store.disown(await bench.store.join(), [])
    assert (await bench.claim()).lanes == []


async def test_the_beat_of_an_owner_declared_dead_is_refused(bench: Bench) -> None:
    await bench.send(await bench.queue())
    await bench.take()
    assert await bench.store.beat(bench.owner)
    old = await bench.vanish()
    assert not await bench.store.beat(old)
    assert await bench.store.beat(bench.owner)


async def test_who_leaves_gives_everything_back_without_a_lost_lease(bench: Bench) -> None:
    for name in "ab":
        await bench.send(await bench.queue(name))
    assert len((await bench.claim()).lanes) == 2
    await bench.store.leave(bench.owner)
    assert not await bench.store.beat(bench.owner)
    bench.owner = await bench.store.join()
    assert [lane.crashes for lane in (await bench.claim()).lanes] == [0, 0]


async def test_a_mark_is_seen_by_the_next_owner(bench: Bench) -> None:
    queue = await bench.queue()
    marked = await bench.send(queue)
    other = await bench.send(queue)
    for times in (1, 2, 3):
        lane = await bench.take()
        assert await bench.store.mark(bench.owner, lane, [marked])
        await bench.vanish()
        assert {m.id: m.marks for m in await bench.due(lane.id)} == {marked: times, other: 0}


async def test_an_unmarked_message_was_not_started(bench: Bench) -> None:
    sent = await bench.send(await bench.queue())
    lane = await bench.take()
    await bench.store.mark(bench.owner, lane, [sent])
    await bench.store.unmark([sent])
    assert (await bench.only(lane.id)).marks == 0
    await bench.store.unmark([sent])
    assert (await bench.only(lane.id)).marks == 0


async def test_a_recorded_try_wipes_its_marks(bench: Bench) -> None:
    sent = await bench.send(await bench.queue())
    lane = await bench.take()
    await bench.store.mark(bench.owner, lane, [sent])
    await bench.became(await bench.only(lane.id), Move.climb)
    assert (await bench.only(lane.id)).marks == 0


@pytest.mark.parametrize("move", [Move.stay, Move.again])
async def test_a_try_that_goes_on_in_place_wipes_only_its_own_mark(
    bench: Bench, move: Move
) -> None:
    sent = await bench.send(await bench.queue())
    lane = await bench.take()
    message = await bench.only(lane.id)
    tries = [bench.result(replace(message, attempts=n), move) for n in range(3)]
    for _ in range(2):
        await bench.store.mark(bench.owner, lane, [sent])
    await bench.record(tries[:1])  # written late: the second try is noted and under way
    assert (await bench.only(lane.id)).marks == 1
    await bench.record(tries[:1])
    assert (await bench.only(lane.id)).marks == 1
    await bench.store.mark(bench.owner, lane, [sent])
    await bench.record(tries)
    assert (await bench.only(lane.id)).marks == 0


async def test_who_lost_the_lane_cannot_mark(bench: Bench) -> None:
    sent = await bench.send(await bench.queue())
    stale = await bench.take()
    old = await bench.vanish()
    assert not await bench.store.mark(old, stale, [sent])
    lane = await bench.take()
    assert not await bench.store.mark(old, stale, [sent])
    assert not await bench.store.mark(bench.owner, stale, [sent])
    assert (await bench.only(lane.id)).marks == 0
    assert await bench.store.mark(bench.owner, lane, [sent])


async def test_a_wish_to_cancel_outlives_the_owner_that_was_asked(bench: Bench) -> None:
    queue = await bench.queue()
    sent, other = await bench.send(queue), await bench.send(queue)
    await bench.take()
    answers = await bench.store.cancel(DEFAULT_TENANT, [sent])
    assert answers == {sent: CancelState.pending}
    await bench.advance(LEASE_MS / 1000 + 1)
    assert (await bench.store.reap(LEASE_MS)).wishes == 1
    assert (await bench.store.reap(LEASE_MS)).lost == 1
    assert await bench.counts() == {"cancelled": 1, "waiting": 1}
    lane = await bench.take()
    assert (await bench.only(lane.id)).id == other


async def test_wishes_to_cancel_outlive_a_restart(bench: Bench) -> None:
    """A process that was killed had said that a try is the last one: so it is."""
    queue = await bench.queue()
    sent = [await bench.send(queue) for _ in range(3)]
    await bench.take()
    await bench.store.cancel(DEFAULT_TENANT, sent[:2])
    await bench.reopen()
    assert await bench.counts() == {"cancelled": 2, "waiting": 1}


@pytest.mark.wide
async def test_wishes_to_cancel_are_granted_in_slices_before_their_lanes_are_freed(
    bench: Bench,
) -> None:
    """Nobody else can claim the lane meanwhile, and send what is not to be sent."""
    queue = await bench.queue()
    sent = [await bench.send(queue) for _ in range(1_101)]
    await bench.take()
    await bench.store.cancel(DEFAULT_TENANT, sent[:-1])
    await bench.advance(LEASE_MS / 1000 + 1)
    for granted in (500, 500, 100):
        assert (await bench.store.reap(LEASE_MS)).wishes == granted
        assert (await bench.claim()).lanes == []
    assert (await bench.store.reap(LEASE_MS)).lost == 1
    assert await bench.counts() == {"cancelled": 1_100, "waiting": 1}


async def test_a_wish_to_cancel_ends_with_the_life_of_its_message(bench: Bench) -> None:
    queue = await bench.queue()
    sent = await bench.send(queue)
    lane = await bench.take()
    message = await bench.only(lane.id)
    await bench.store.cancel(DEFAULT_TENANT, [sent])
    await bench.became(message, Move.die)
    which = DeadFilter(ids=(sent,))
    assert await bench.store.dead_replay(which, ReplayMode.once, count=1, dry_run=False) == 1
    await bench.advance(LEASE_MS / 1000 + 1)
    assert (await bench.store.reap(LEASE_MS)).lost == 1
    assert await bench.counts() == {"waiting": 1}
