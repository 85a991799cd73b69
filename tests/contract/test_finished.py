"""Finished work: counted, kept for its time, then forgotten."""

import pytest

from postroad.model.decide import Move
from tests.contract.bench import Bench

DAY_MS = 86_400_000
DAY_S = 86_400


async def test_counts_name_every_state(bench: Bench) -> None:
    assert await bench.store.counts() == dict.fromkeys(
        ("waiting", "held", "uncertain", "delivered", "cancelled", "dead"), 0
    )


async def test_counts_add_up_to_what_was_accepted(bench: Bench) -> None:
    queue, other = await bench.queue("a", server="host"), await bench.queue("b", server="host")
    for _ in range(6):
        await bench.send(queue)
    await bench.send(other)
    lane = await bench.take()
    moves = (Move.deliver, Move.deliver, Move.die, Move.doubt, Move.climb)
    messages = [m for m in await bench.due(lane.id) if m.queue == queue.id]
    for message, move in zip(messages, moves, strict=False):
        await bench.became(message, move)
    await bench.block(other, lane, 60)
    counts = {"delivered": 2, "dead": 1, "uncertain": 1, "waiting": 2, "held": 1}
    assert await bench.counts() == counts
    assert sum(counts.values()) == 7


async def finish(bench: Bench, move: Move) -> int:
    queue = await bench.queue()
    sent = await bench.send(queue)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.climb)
    await bench.became(await bench.only(lane.id), move)
    await bench.release(lane)
    return sent


async def test_history_is_forgotten_after_its_time_with_its_tries(bench: Bench) -> None:
    await finish(bench, Move.deliver)
    await bench.advance(7 * DAY_S)
    assert await bench.store.retain(7 * DAY_MS, 90 * DAY_MS) == 0
    assert await bench.counts() == {"delivered": 1}
    await bench.advance(1)
    assert await bench.store.retain(7 * DAY_MS, 90 * DAY_MS) == 1
    assert await bench.counts() == {}
    assert await bench.rows("select * from attempt") == []


async def test_what_was_delivered_together_is_forgotten_with_all_its_tries(bench: Bench) -> None:
    queue = await bench.queue()
    for _ in range(3):
        await bench.send(queue)
    lane = await bench.take()
    for message in await bench.due(lane.id):
        await bench.became(message, Move.climb)
    await bench.record([bench.result(m, Move.deliver) for m in await bench.due(lane.id)])
    assert len(await bench.rows("select * from attempt")) == 3
    await bench.advance(9 * DAY_S)
    assert await bench.store.retain(7 * DAY_MS, 90 * DAY_MS) == 3
    assert await bench.counts() == {}
    assert await bench.rows("select * from attempt") == []


@pytest.mark.parametrize("tries", [1, 2])
async def test_a_cancelled_message_is_forgotten_with_its_tries(bench: Bench, tries: int) -> None:
    await bench.send(await bench.queue())
    lane = await bench.take()
    for move in (Move.climb, Move.cancel)[-tries:]:
        await bench.became(await bench.only(lane.id), move)
    assert await bench.counts() == {"cancelled": 1}
    await bench.advance(9 * DAY_S)
    assert await bench.store.retain(7 * DAY_MS, 90 * DAY_MS) == 1
    assert await bench.rows("select * from attempt") == []


async def test_the_dead_are_kept_for_a_time_of_their_own(bench: Bench) -> None:
    sent = await finish(bench, Move.die)
    await bench.advance(90 * DAY_S)
    assert await bench.store.retain(7 * DAY_MS, 90 * DAY_MS) == 0
    assert set(await bench.dead()) == {sent}
    await bench.advance(1)
    assert await bench.store.retain(7 * DAY_MS, 90 * DAY_MS) == 1
    assert await bench.rows("select * from attempt") == []


async def test_a_message_that_lived_long_is_remembered_from_its_end_on(bench: Bench) -> None:
    await bench.send(await bench.queue(), after_s=30 * DAY_S)
    await bench.advance(30 * DAY_S)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.deliver)
    await bench.advance(6 * DAY_S)
    assert await bench.store.retain(7 * DAY_MS, 90 * DAY_MS) == 0
    await bench.advance(DAY_S + 1)
    assert await bench.store.retain(7 * DAY_MS, 90 * DAY_MS) == 1


async def test_unfinished_work_is_never_forgotten(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue, after_s=400 * DAY_S)
    await bench.send(queue)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.doubt)
    await bench.advance(365 * DAY_S)
    assert await bench.store.retain(DAY_MS, DAY_MS) == 0
    assert await bench.counts() == {"waiting": 1, "uncertain": 1}


async def test_keys_past_their_day_are_forgotten(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue, key="old")
    await bench.advance(DAY_S / 2)
    await bench.send(queue, key="new")
    await bench.advance(DAY_S / 2)
    await bench.store.retain(DAY_MS, DAY_MS)
    assert await bench.rows("select key from idempotency") == [("new",)]


async def test_statements_are_counted_by_what_they_were_for(bench: Bench) -> None:
    await bench.send(await bench.queue())
    before = bench.store.queries
    await bench.claim([3])
    await bench.claim()
    after = bench.store.queries
    rise = {label: n - before.get(label, 0) for label, n in after.items()}
    assert {label for label, n in rise.items() if n} == {"level 3", "safety poll"}
