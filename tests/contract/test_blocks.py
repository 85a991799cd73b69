"""Blocks: on a queue's rungs or on a lane, never on messages, and never lifted by accident."""

import pytest
from msgspec.structs import replace

from postroad.model.block import Block, BlockKind, disabled
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.decide import Move
from postroad.model.record import QueueChange
from postroad.model.states import NEVER
from tests.contract.bench import Bench


async def test_nothing_of_a_blocked_queue_is_seen_before_its_time(bench: Bench) -> None:
    queue = await bench.queue()
    sent = await bench.send(queue)
    lane = await bench.take()
    block = await bench.block(queue, lane, 180)
    view = await bench.view(lane.id)
    assert (view.rungs, view.next_at_ms) == ([], block.until_ms)
    assert await bench.release(lane) == {0: block.until_ms}
    await bench.advance(179.999)
    claim = await bench.claim()
    assert (claim.lanes, claim.next_at_ms[0]) == ([], block.until_ms)
    await bench.advance(0.001)
    assert (await bench.only((await bench.take()).id)).id == sent


async def test_a_blocked_queue_delays_no_other_on_its_lane(bench: Bench) -> None:
    blocked = await bench.queue("a", server="host")
    healthy = await bench.queue("b", server="host")
    await bench.send(blocked)
    sent = await bench.send(healthy)
    lane = await bench.take()
    await bench.block(blocked, lane, 180)
    assert (await bench.only(lane.id)).id == sent
    await bench.release(lane)
    assert (await bench.only((await bench.take()).id)).id == sent


async def test_a_block_touches_no_message(bench: Bench) -> None:
    queue = await bench.queue()
    for priority in range(3):
        await bench.send(queue, priority=priority)
    lane = await bench.take()
    before = await bench.rows("select * from message order by id")
    await bench.block(queue, lane, 180)
    assert await bench.rows("select * from message order by id") == before
    await bench.unblock(queue, lane)
    assert await bench.rows("select * from message order by id") == before


async def test_a_block_is_shown_with_its_reason(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    block = Block(BlockKind.quota, bench.at(270), "429 from shop", 2, bench.at(-180))
    await bench.record(queues=[QueueChange(queue.id, lane.id, lane.epoch, block)])
    assert (await bench.find(queue)).block == block
    await bench.advance(270)
    (shown,) = (await bench.view(lane.id)).queues
    assert shown.block == block


async def test_messages_of_a_blocked_queue_count_as_held(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.block(queue, lane, 180)
    await bench.send(queue)
    assert await bench.counts() == {"held": 2}
    await bench.advance(180)
    assert await bench.counts() == {"waiting": 2}


@pytest.mark.parametrize("owned", [True, False])
async def test_adding_to_a_blocked_queue_never_unblocks_it(bench: Bench, *, owned: bool) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    block = await bench.block(queue, lane, 180)
    if not owned:
        await bench.release(lane)
    await bench.send(queue)
    await bench.send(queue, priority=5)  # a rung that is made under the block
    await bench.send(queue, order_key="k")
    assert await bench.due(lane.id) == []
    assert (await bench.view(lane.id)).next_at_ms == block.until_ms
    assert (await bench.claim()).lanes == []
    assert (await bench.find(queue)).block == block


async def test_climbing_in_a_blocked_queue_does_not_unblock_it(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    message = await bench.only(lane.id)
    await bench.block(queue, lane, 180)
    await bench.became(message, Move.climb, after_s=60)
    await bench.advance(60)
    assert await bench.due(lane.id) == []
    await bench.advance(120)
    assert (await bench.only(lane.id)).level == 1


async def test_what_is_due_after_the_block_waits_for_its_own_time(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.climb, after_s=600)
    await bench.block(queue, lane, 180)
    assert await bench.release(lane) == {1: bench.at(600)}


async def test_unblocking_brings_back_the_first_due_time(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue, after_s=10)
    await bench.send(queue, after_s=5)
    await bench.send(queue, priority=1)
    lane = await bench.take()
    await bench.block(queue, lane, 180)
    await bench.unblock(queue, lane)
    assert (await bench.find(queue)).block is None
    view = await bench.view(lane.id)
    assert ([rung.priority for rung in view.rungs], view.next_at_ms) == ([1], bench.at(5))


async def test_a_shorter_block_takes_the_place_of_a_longer_one(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.block(queue, lane, 600)
    short = await bench.block(queue, lane, 60)
    assert (await bench.view(lane.id)).next_at_ms == short.until_ms


async def test_a_disabled_queue_waits_for_ever(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    gone = disabled("410", bench.now_ms)
    await bench.record(queues=[QueueChange(queue.id, lane.id, lane.epoch, gone)])
    assert await bench.release(lane) == {}
    await bench.advance(365 * 86_400)
    assert (await bench.claim()).lanes == []
    assert (await bench.find(queue)).block == gone


async def test_a_block_reaches_all_lanes_of_its_queue(bench: Bench) -> None:
    queue = await bench.queue(shards=2)
    await bench.send(queue, shard=0)
    mine = await bench.take()
    await bench.send(queue, shard=1)
    block = await bench.block(queue, mine, 180)
    claim = await bench.claim()
    assert (claim.lanes, claim.next_at_ms[0]) == ([], block.until_ms)
    await bench.unblock(queue, mine)
    assert (await bench.take()).id == queue.lanes[1]


async def test_a_disabled_queue_is_disabled_on_all_its_lanes(bench: Bench) -> None:
    queue = await bench.queue(shards=2)
    await bench.send(queue, shard=0)
    mine = await bench.take()
    await bench.send(queue, shard=1)
    gone = disabled("410", bench.now_ms)
    await bench.record(queues=[QueueChange(queue.id, mine.id, mine.epoch, gone)])
    assert (await bench.claim()).lanes == []


# Lanes


def opened(bench: Bench, seconds: float) -> Circuit:
    return Circuit(3, 1, bench.at(seconds), bench.now_ms, "refused")


async def test_a_lane_with_an_open_circuit_is_not_claimed_before_its_time(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    circuit = opened(bench, 2)
    await bench.circuit(lane, circuit)
    assert await bench.release(lane) == {0: bench.at(2)}
    await bench.send(queue)
    await bench.send(queue, priority=3)
    claim = await bench.claim()
    assert (claim.lanes, claim.next_at_ms[0]) == ([], bench.at(2))
    await bench.advance(2)
    assert (await bench.take()).circuit == circuit


@pytest.mark.parametrize("priority", [0, 3])
async def test_what_comes_for_a_lane_with_an_open_circuit_has_an_early_probe(
    bench: Bench, priority: int
) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.circuit(lane, opened(bench, 40), early_ms=bench.at(10))
    assert await bench.release(lane) == {0: bench.at(40)}
    assert (await bench.claim()).next_at_ms[0] == bench.at(40)  # what waited already does not
    await bench.send(queue, priority=priority)
    await bench.send(queue, priority=priority)
    assert (await bench.claim()).next_at_ms[0] == bench.at(10)
    await bench.advance(10)
    assert (await bench.take()).id == lane.id


async def test_neither_a_pause_nor_a_block_is_ended_by_new_traffic(bench: Bench) -> None:
    queue, held = await bench.queue("a", server="host"), await bench.queue("b", server="host")
    await bench.send(queue)
    await bench.send(held)
    lane = await bench.take()
    await bench.block(held, lane, 3600)
    await bench.circuit(lane, opened(bench, 40), early_ms=bench.at(10))
    await bench.release(lane)
    await bench.send(held)
    assert (await bench.claim()).next_at_ms[0] == bench.at(40)
    await bench.store.pause_lane(lane.id, paused=True)
    await bench.send(queue)
    await bench.advance(60)
    assert (await bench.claim()).lanes == []


async def test_a_circuit_that_was_closed_leaves_nothing_behind(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.circuit(lane, opened(bench, 40), early_ms=bench.at(10))
    await bench.release(lane)
    await bench.store.unblock_lane(lane.id)
    await bench.send(queue)
    assert (await bench.take()).id == lane.id


async def test_a_failed_probe_stays_behind_the_others_for_the_next_owner_too(bench: Bench) -> None:
    queue = await bench.queue()
    first = await bench.send(queue)
    await bench.advance(1)
    second = await bench.send(queue)
    await bench.advance(1)
    lane = await bench.take()
    probe, other = await bench.due(lane.id)
    assert (probe.id, other.id) == (first, second)
    await bench.became(probe, Move.behind)
    await bench.circuit(lane, opened(bench, 60))
    await bench.release(lane)
    await bench.advance(60)  # a broker has had them in its delay queues meanwhile
    lane = await bench.take()
    assert [message.id for message in await bench.due(lane.id)] == [second, first]
    await bench.became((await bench.due(lane.id))[1], Move.climb, after_s=5)
    await bench.circuit(lane, CLOSED)
    await bench.release(lane)
    await bench.advance(5)
    lane = await bench.take()
    found = {message.id: message for message in await bench.due(lane.id)}
    assert found[first].place == found[first].due_ms  # a level higher it has no such place


async def test_a_held_lane_is_not_claimed_before_its_time_and_of_two_ends_the_later_counts(
    bench: Bench,
) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.store.hold_lane(lane.id, bench.at(60), "a campaign was told so")
    await bench.store.hold_lane(lane.id, bench.at(30), "and this")
    circuit = (await bench.view(lane.id)).circuit  # its owner sees it
    assert (circuit.is_held, circuit.until_ms) == (True, bench.at(60))
    assert circuit.reason == "a campaign was told so"
    assert await bench.release(lane) == {0: bench.at(60)}
    await bench.store.hold_lane(lane.id, 0, "")  # not before it is over
    assert (await bench.claim()).lanes == []
    await bench.advance(60)
    await bench.store.hold_lane(lane.id, 0, "")
    taken = await bench.take()
    assert (taken.id, taken.circuit) == (lane.id, CLOSED)


async def test_a_hold_does_not_shorten_a_circuit_that_is_open_for_longer(bench: Bench) -> None:
    """A campaign that was throttled for a moment ended the wait for a server that was away."""
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    circuit = opened(bench, 60)
    await bench.circuit(lane, circuit)
    await bench.store.hold_lane(lane.id, bench.at(30), "a campaign was told so")
    assert (await bench.view(lane.id)).circuit == circuit
    await bench.store.hold_lane(lane.id, bench.at(90), "and this")
    assert (await bench.view(lane.id)).circuit.until_ms == bench.at(90)


async def test_a_hold_does_not_begin_the_back_off_of_an_open_circuit_anew(bench: Bench) -> None:
    """The server is away for the fifth time in a row, after the hold too."""
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    circuit = replace(opened(bench, 60), opened=5)
    await bench.circuit(lane, circuit)
    await bench.advance(1)
    await bench.store.hold_lane(lane.id, bench.at(90), "a campaign was told so")
    held = (await bench.view(lane.id)).circuit
    assert held.is_held
    assert (held.opened, held.since_ms) == (5, circuit.since_ms)


async def test_a_circuit_writes_nothing_on_queues_and_messages(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    tables = ("message", "rung", "queue")
    before = [await bench.rows(f"select * from {table}") for table in tables]
    await bench.circuit(lane, opened(bench, 2))
    assert [await bench.rows(f"select * from {table}") for table in tables] == before


async def test_a_circuit_that_closes_lifts_only_unreachable_blocks_of_its_queues(
    bench: Bench,
) -> None:
    kinds = (BlockKind.unreachable, BlockKind.quota, BlockKind.disabled)
    queues = [await bench.queue(kind, server="host") for kind in kinds]
    elsewhere = await bench.queue("elsewhere")
    for queue in (*queues, elsewhere):
        await bench.send(queue)
    lanes = {lane.id: lane for lane in (await bench.claim()).lanes}
    lane, other = lanes[queues[0].lanes[0]], lanes[elsewhere.lanes[0]]
    for queue, kind in zip(queues, kinds, strict=True):
        await bench.block(queue, lane, 900, kind)
    await bench.block(elsewhere, other, 900, BlockKind.unreachable)
    await bench.circuit(lane, opened(bench, 2))
    await bench.circuit(lane, CLOSED)
    blocks = [(await bench.find(queue)).block for queue in (*queues, elsewhere)]
    assert [block.kind if block else None for block in blocks] == [
        None,
        BlockKind.quota,
        BlockKind.disabled,
        BlockKind.unreachable,
    ]
    assert (await bench.only(lane.id)).queue == queues[0].id


async def test_a_circuit_that_closes_frees_its_queues_on_their_other_lanes_too(
    bench: Bench,
) -> None:
    queue = await bench.queue(shards=2)
    await bench.send(queue, shard=0)
    mine = await bench.take()
    await bench.send(queue, shard=1)
    await bench.block(queue, mine, 900, BlockKind.unreachable)
    await bench.circuit(mine, CLOSED)
    assert (await bench.take()).id == queue.lanes[1]


async def test_a_closed_circuit_is_kept_closed(bench: Bench) -> None:
    await bench.send(await bench.queue())
    lane = await bench.take()
    await bench.circuit(lane, opened(bench, 2))
    await bench.circuit(lane, CLOSED)
    assert await bench.release(lane) == {0: bench.now_ms}
    assert (await bench.take()).circuit == CLOSED


async def test_lost_leases_are_forgotten_when_the_owner_says_so(bench: Bench) -> None:
    await bench.send(await bench.queue())
    await bench.take()
    await bench.vanish()
    lane = await bench.take()
    assert lane.crashes == 1
    await bench.circuit(lane, CLOSED, crashes=0)
    await bench.vanish()
    assert (await bench.take()).crashes == 1


async def test_an_idle_store_has_nothing_ahead(bench: Bench) -> None:
    await bench.queue()
    assert set((await bench.claim()).next_at_ms.values()) == {NEVER}
