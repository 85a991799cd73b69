"""Fencing: who lost a lane cannot fail its messages any more; a success always counts."""

import pytest
from msgspec.structs import replace

from postroad.model.block import Block, BlockKind
from postroad.model.circuit import Circuit
from postroad.model.decide import Move
from postroad.model.entities import Lane, Message
from postroad.model.record import LaneChange, QueueChange
from tests.contract.bench import Bench

FAILURES = [
    Move.climb,
    Move.wait,
    Move.stay,
    Move.behind,
    Move.again,
    Move.hold,
    Move.die,
    Move.doubt,
]


async def zombie(bench: Bench) -> tuple[int, Lane, Message]:
    """An owner that was declared dead in the middle of a try; the bench speaks as the next."""
    await bench.send(await bench.queue())
    lane = await bench.take()
    message = await bench.only(lane.id)
    return await bench.vanish(), lane, message


@pytest.mark.parametrize("move", FAILURES)
@pytest.mark.parametrize("taken_over", [False, True])
async def test_a_stale_failure_changes_nothing(
    bench: Bench, move: Move, *, taken_over: bool
) -> None:
    old, lane, message = await zombie(bench)
    if taken_over:
        await bench.take()
    tables = ("message", "rung", "dead", "history", "attempt", "lane", "lane_level")
    before = [await bench.rows(f"select * from {table} order by 1") for table in tables]
    recorded = await bench.became(message, move, owner=old, epoch=lane.epoch, after_s=60)
    assert recorded.lost == {lane.id}
    after = [await bench.rows(f"select * from {table} order by 1") for table in tables]
    assert after == before


async def test_a_failure_of_an_earlier_epoch_of_the_same_owner_is_stale_too(bench: Bench) -> None:
    await bench.send(await bench.queue())
    first = await bench.take()
    message = await bench.only(first.id)
    await bench.release(first)
    second = await bench.take()
    recorded = await bench.became(message, Move.die, epoch=first.epoch)
    assert recorded.lost == {first.id}
    assert await bench.only(second.id) == message


@pytest.mark.parametrize("taken_over", [False, True])
async def test_a_stale_success_is_applied(bench: Bench, *, taken_over: bool) -> None:
    old, lane, message = await zombie(bench)
    if taken_over:
        await bench.take()
    recorded = await bench.became(message, Move.deliver, owner=old, epoch=lane.epoch)
    assert recorded.lost == {lane.id}
    assert await bench.counts() == {"delivered": 1}
    assert await bench.delivered() == {message.id: False}


async def test_a_failure_after_a_zombies_success_leaves_it_delivered(bench: Bench) -> None:
    old, stale, message = await zombie(bench)
    lane = await bench.take()
    again = await bench.only(lane.id)
    await bench.became(message, Move.deliver, owner=old, epoch=stale.epoch)
    for move in FAILURES:
        await bench.became(again, move, after_s=60)
    assert await bench.counts() == {"delivered": 1}


async def test_two_successes_of_one_message_are_one(bench: Bench) -> None:
    old, stale, message = await zombie(bench)
    lane = await bench.take()
    again = await bench.only(lane.id)
    await bench.became(again, Move.deliver)
    await bench.became(message, Move.deliver, owner=old, epoch=stale.epoch)
    assert await bench.counts() == {"delivered": 1}


async def test_the_success_of_a_dead_message_makes_it_delivered_late(bench: Bench) -> None:
    old, stale, message = await zombie(bench)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.die)
    await bench.became(message, Move.deliver, owner=old, epoch=stale.epoch)
    assert await bench.counts() == {"delivered": 1}
    assert await bench.delivered() == {message.id: True}


async def test_a_message_swept_in_flight_and_then_delivered_is_late(bench: Bench) -> None:
    await bench.send(await bench.queue(), ttl_s=10)
    message = await bench.only((await bench.take()).id)
    await bench.advance(10)
    assert (await bench.store.sweep(10)).expired == 1
    assert (await bench.became(message, Move.deliver)).lost == frozenset()
    assert await bench.delivered() == {message.id: True}


async def test_the_success_of_an_uncertain_message_settles_it(bench: Bench) -> None:
    old, stale, message = await zombie(bench)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.doubt)
    await bench.became(message, Move.deliver, owner=old, epoch=stale.epoch)
    assert await bench.counts() == {"delivered": 1}


async def attempts(bench: Bench) -> int:
    ((count,),) = await bench.rows("select attempts from history")
    assert isinstance(count, int)
    return count


@pytest.mark.parametrize("move", [Move.climb, Move.die])
async def test_a_late_success_counts_beside_the_tries_that_were_made_meanwhile(
    bench: Bench, move: Move
) -> None:
    old, stale, message = await zombie(bench)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), move, after_s=60)
    await bench.became(message, Move.deliver, owner=old, epoch=stale.epoch)
    assert await attempts(bench) == 2


async def test_a_late_success_and_the_doubt_about_it_are_one_try(bench: Bench) -> None:
    old, stale, message = await zombie(bench)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.doubt)
    await bench.became(message, Move.deliver, owner=old, epoch=stale.epoch)
    assert await attempts(bench) == 1


async def test_a_try_in_which_its_message_was_cancelled_is_counted(bench: Bench) -> None:
    await bench.send(await bench.queue())
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.cancel)
    assert await attempts(bench) == 1


async def test_a_try_that_did_not_begin_before_its_message_was_cancelled_is_none(
    bench: Bench,
) -> None:
    await bench.send(await bench.queue())
    lane = await bench.take()
    result = bench.result(await bench.only(lane.id), Move.cancel)
    await bench.record([replace(result, started_ms=0)])
    assert await attempts(bench) == 0
    assert await bench.rows("select number from attempt") == []


async def test_stale_and_current_results_in_one_batch_are_told_apart(bench: Bench) -> None:
    one, two = await bench.queue("a"), await bench.queue("b")
    await bench.send(one)
    await bench.send(two)
    lanes = (await bench.claim()).lanes
    mine, lost = [(lane, await bench.only(lane.id)) for lane in lanes]
    results = [
        bench.result(mine[1], Move.die),
        bench.result(lost[1], Move.die, epoch=lost[0].epoch + 1),
    ]
    assert (await bench.record(results)).lost == {lost[0].id}
    assert await bench.dead() == {mine[1].id: "rejected"}
    assert await bench.only(lost[0].id) == lost[1]


async def test_a_stale_block_or_circuit_is_refused(bench: Bench) -> None:
    old, lane, message = await zombie(bench)
    block = Block(BlockKind.quota, bench.at(180), "429", 1, bench.now_ms)
    circuit = Circuit(3, 1, bench.at(2), bench.now_ms, "refused")
    recorded = await bench.record(
        queues=[QueueChange(message.queue, lane.id, lane.epoch, block)],
        lanes=[LaneChange(lane.id, lane.epoch, circuit)],
        owner=old,
    )
    assert recorded.lost == {lane.id}
    fresh = await bench.take()
    assert not fresh.circuit.is_open
    (queue,) = (await bench.view(fresh.id)).queues
    assert queue.block is None


async def test_a_stale_release_gives_nothing_back(bench: Bench) -> None:
    old, stale, _ = await zombie(bench)
    lane = await bench.take()
    assert await bench.release(stale, owner=old) == {}
    assert await bench.release(replace(lane, epoch=lane.epoch + 1)) == {}
    assert (await bench.claim()).lanes == []
