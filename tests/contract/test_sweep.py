"""The sweep: deadlines, and spells of quota or absence that went on for too long."""

import pytest
from msgspec.structs import replace

from postroad.model.block import BlockKind
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.decide import Move
from postroad.model.entities import Lane, Policy, Queue
from postroad.model.record import QueueChange
from postroad.model.states import NEVER
from tests.contract.bench import Bench

DAY_S = 86_400
TTL_S = {BlockKind.quota: 7 * DAY_S, BlockKind.unreachable: 2 * DAY_S}
SPELLS = list(TTL_S)
RECHECK_S = 600
"""A message that was accepted in the middle of a spell may die so much late."""


async def blocked(bench: Bench, kind: BlockKind) -> tuple[Queue, Lane, int]:
    """A queue with one message and a spell that begins now."""
    queue = await bench.queue()
    sent = await bench.send(queue)
    lane = await bench.take()
    await bench.block(queue, lane, 60, kind)
    return queue, lane, sent


async def test_a_message_dies_when_its_deadline_passes_and_not_before(bench: Bench) -> None:
    queue = await bench.queue()
    sent = await bench.send(queue, ttl_s=10)
    await bench.send(queue)
    await bench.advance(9.999)
    swept = await bench.store.sweep(10)
    assert (swept.expired, swept.next_at_ms) == (0, bench.at(0.001))
    await bench.advance(0.001)
    swept = await bench.store.sweep(10)
    assert (swept.expired, swept.next_at_ms) == (1, NEVER)
    assert await bench.dead() == {sent: "expired"}
    assert await bench.counts() == {"waiting": 1, "dead": 1}


async def test_a_deadline_counts_for_waiting_and_blocked_messages_alike(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue, ttl_s=600)
    await bench.send(queue, ttl_s=600)
    lane = await bench.take()
    await bench.became((await bench.due(lane.id))[0], Move.climb, after_s=3600)
    await bench.block(queue, lane, 900)
    await bench.advance(600)
    assert (await bench.store.sweep(10)).expired == 2


async def test_a_sweep_does_no_more_than_it_is_asked_to_and_comes_again(bench: Bench) -> None:
    queue = await bench.queue()
    for ttl_s in (3, 1, 2):
        await bench.send(queue, ttl_s=ttl_s)
    await bench.advance(5)
    swept = await bench.store.sweep(2)
    assert swept.expired == 2
    assert swept.next_at_ms <= bench.now_ms
    assert (await bench.store.sweep(2)).expired == 1


async def test_an_expired_message_is_not_read_any_more(bench: Bench) -> None:
    await bench.send(await bench.queue(), ttl_s=1)
    lane = await bench.take()
    await bench.advance(1)
    await bench.store.sweep(10)
    assert await bench.due(lane.id) == []


async def test_nothing_to_sweep_is_nothing_ahead(bench: Bench) -> None:
    await bench.send(await bench.queue())
    swept = await bench.store.sweep(10)
    assert (swept.expired, swept.next_at_ms) == (0, NEVER)


@pytest.mark.parametrize("kind", SPELLS)
async def test_a_message_outlives_a_spell_by_its_time_and_not_longer(
    bench: Bench, kind: BlockKind
) -> None:
    _, _, sent = await blocked(bench, kind)
    await bench.advance(TTL_S[kind] - 0.001)
    swept = await bench.store.sweep(10)
    assert (swept.expired, swept.next_at_ms) == (0, bench.at(0.001))
    await bench.advance(0.001)
    assert (await bench.store.sweep(10)).expired == 1
    assert await bench.dead() == {sent: f"expired_{kind}"}


@pytest.mark.parametrize("kind", SPELLS)
async def test_a_spell_counts_from_its_own_start_for_what_was_there_before(
    bench: Bench, kind: BlockKind
) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    await bench.advance(30 * DAY_S)
    await bench.block(queue, await bench.take(), 60, kind)
    await bench.advance(TTL_S[kind] - 1)
    assert (await bench.store.sweep(10)).expired == 0
    await bench.advance(1)
    assert (await bench.store.sweep(10)).expired == 1


@pytest.mark.parametrize("kind", SPELLS)
async def test_a_spell_counts_from_acceptance_for_what_came_later(
    bench: Bench, kind: BlockKind
) -> None:
    queue, _, first = await blocked(bench, kind)
    await bench.advance(DAY_S)
    second = await bench.send(queue)
    await bench.advance(TTL_S[kind] - DAY_S)
    swept = await bench.store.sweep(10)
    assert (swept.expired, set(await bench.dead())) == (1, {first})
    await bench.advance(DAY_S - 1)
    assert (await bench.store.sweep(10)).expired == 0
    await bench.advance(1 + RECHECK_S)
    await bench.store.sweep(10)
    assert set(await bench.dead()) == {first, second}


async def test_a_sweep_in_a_long_spell_comes_again_for_the_later_ones(bench: Bench) -> None:
    queue, _, _ = await blocked(bench, BlockKind.quota)
    await bench.advance(DAY_S)
    await bench.send(queue)
    await bench.advance(6 * DAY_S)
    swept = await bench.store.sweep(10)
    assert bench.now_ms < swept.next_at_ms <= bench.at(DAY_S + RECHECK_S)


async def test_a_block_that_grows_is_still_the_same_spell(bench: Bench) -> None:
    queue, lane, _ = await blocked(bench, BlockKind.quota)
    began = (await bench.find(queue)).block
    assert began is not None
    await bench.advance(6 * DAY_S)
    grown = replace(began, until_ms=bench.at(10_800), streak=40)
    await bench.record(queues=[QueueChange(queue.id, lane.id, lane.epoch, grown)])
    await bench.advance(DAY_S)
    assert (await bench.store.sweep(10)).expired == 1


async def test_a_spell_that_ended_kills_nobody(bench: Bench) -> None:
    queue, lane, _ = await blocked(bench, BlockKind.quota)
    await bench.unblock(queue, lane)
    await bench.advance(30 * DAY_S)
    swept = await bench.store.sweep(10)
    assert (swept.expired, swept.next_at_ms) == (0, NEVER)


async def test_a_disabled_queue_is_no_spell(bench: Bench) -> None:
    await blocked(bench, BlockKind.disabled)
    await bench.advance(365 * DAY_S)
    assert (await bench.store.sweep(10)).expired == 0


async def test_the_policy_says_how_long_a_spell_is_outlived(bench: Bench) -> None:
    queue = await bench.queue(policy=Policy(quota_ttl_ms=5_000))
    await bench.send(queue)
    await bench.block(queue, await bench.take(), 60)
    await bench.advance(5)
    assert (await bench.store.sweep(10)).expired == 1


async def test_a_spell_kills_no_more_at_once_than_asked(bench: Bench) -> None:
    queue, _, _ = await blocked(bench, BlockKind.quota)
    for _ in range(4):
        await bench.send(queue)
    await bench.advance(7 * DAY_S)
    swept = await bench.store.sweep(3)
    assert (swept.expired, swept.next_at_ms) == (3, bench.now_ms)
    assert (await bench.store.sweep(3)).expired == 2


async def test_an_uncertain_message_outlives_a_spell(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.doubt)
    await bench.block(queue, lane, 60)
    await bench.advance(7 * DAY_S)
    assert (await bench.store.sweep(10)).expired == 0


async def test_messages_of_a_lane_that_is_away_for_two_days_die(bench: Bench) -> None:
    queues = [await bench.queue(name, server="host") for name in "ab"]
    healthy = await bench.queue("healthy")
    sent = [await bench.send(queue) for queue in queues]
    lane = await bench.take()
    await bench.circuit(lane, Circuit(3, 1, bench.at(2), bench.now_ms, "refused"))
    await bench.send(healthy)
    await bench.advance(2 * DAY_S - 1)
    swept = await bench.store.sweep(10)
    assert (swept.expired, swept.next_at_ms) == (0, bench.at(1))
    late = await bench.send(queues[0])
    await bench.advance(1)
    assert (await bench.store.sweep(10)).expired == 2
    assert await bench.dead() == dict.fromkeys(sent, "expired_unreachable")
    assert late in {m.id for m in await bench.due(lane.id)}


async def test_a_lane_that_came_back_kills_nobody(bench: Bench) -> None:
    await bench.send(await bench.queue())
    lane = await bench.take()
    await bench.circuit(lane, Circuit(3, 1, bench.at(2), bench.now_ms, "refused"))
    await bench.circuit(lane, CLOSED)
    await bench.advance(3 * DAY_S)
    assert (await bench.store.sweep(10)).expired == 0


async def test_a_lane_that_is_away_kills_nobody_on_the_queues_other_lanes(bench: Bench) -> None:
    queue = await bench.queue(shards=2)
    gone = await bench.send(queue, shard=0)
    lane = await bench.take()
    await bench.send(queue, shard=1)
    await bench.circuit(lane, Circuit(3, 1, bench.at(2), bench.now_ms, "refused"))
    await bench.advance(2 * DAY_S)
    await bench.store.sweep(10)
    assert set(await bench.dead()) == {gone}
