"""Order groups: a failed head delays its order group, nothing else, and no longer than it must."""

from postroad.model.decide import Move
from postroad.model.entities import Lane, Message, Queue
from tests.contract.bench import Bench
from tests.contract.holding import all_held

LADDER_S = 3600


async def pair(bench: Bench, ttl_s: float = 2 * LADDER_S) -> tuple[Queue, Lane, Message, Message]:
    """Two messages of one order, on an owned lane; the first of them may expire."""
    queue = await bench.queue()
    await bench.send(queue, order_key="k", ttl_s=ttl_s)
    await bench.send(queue, order_key="k")
    lane = await bench.take()
    head, behind = await bench.due(lane.id)
    return queue, lane, head, behind


async def next_head(bench: Bench, lane: Lane) -> list[int]:
    """Who is to go in a lane that its owner gave back just now, by a claim at level 0."""
    await bench.release(lane)
    claim = await bench.claim([0])
    return [m.id for lane in claim.lanes for m in await bench.due(lane.id)]


async def test_a_failed_head_stays_at_the_head(bench: Bench) -> None:
    _, lane, head, behind = await pair(bench)
    await bench.became(head, Move.climb, after_s=60)
    assert await bench.due(lane.id) == []
    assert (await bench.view(lane.id)).next_at_ms == bench.at(60)
    await bench.advance(60)
    again, last = await bench.due(lane.id)
    assert (again.id, again.level, again.place) == (head.id, 1, head.place)
    assert last == behind


async def test_a_head_that_asked_for_later_stays_at_the_head(bench: Bench) -> None:
    _, lane, head, behind = await pair(bench)
    await bench.became(head, Move.wait, after_s=60)
    assert await bench.due(lane.id) == []
    await bench.advance(60)
    assert [m.id for m in await bench.due(lane.id)] == [head.id, behind.id]


async def test_a_failed_head_delays_only_its_order_group(bench: Bench) -> None:
    queue, lane, head, _ = await pair(bench)
    other, plain = await bench.send(queue, order_key="other"), await bench.send(queue)
    await bench.became(head, Move.climb, after_s=60)
    assert {m.id for m in await bench.due(lane.id)} == {other, plain}


async def test_adding_behind_a_waiting_head_lets_nothing_overtake_it(bench: Bench) -> None:
    queue, lane, head, _ = await pair(bench)
    await bench.became(head, Move.climb, after_s=60)
    await bench.send(queue, order_key="k")
    assert await bench.due(lane.id) == []


async def test_an_order_group_is_at_the_level_of_its_head(bench: Bench) -> None:
    _, lane, head, _ = await pair(bench)
    await bench.became(head, Move.climb, level=2, after_s=60)
    assert await bench.release(lane) == {2: bench.at(60)}
    await bench.advance(60)
    assert (await bench.claim([0, 1])).lanes == []
    assert len((await bench.claim([2])).lanes) == 1


async def test_a_delivered_head_leaves_its_level_to_nobody(bench: Bench) -> None:
    # Else the next one is polled as seldom as its predecessor was.
    _, lane, head, behind = await pair(bench)
    await bench.became(head, Move.climb, level=4, after_s=0)
    again, _ = await bench.due(lane.id)
    await bench.became(again, Move.deliver)
    assert await next_head(bench, lane) == [behind.id]


async def test_a_dead_head_lets_the_next_one_go(bench: Bench) -> None:
    _, lane, head, behind = await pair(bench)
    await bench.became(head, Move.die)
    assert (await bench.only(lane.id)) == behind


async def test_a_held_order_group_is_never_ready(bench: Bench) -> None:
    queue, lane, head, _ = await pair(bench, ttl_s=9 * 86_400)
    await bench.became(head, Move.hold, error="it said no")
    assert await bench.due(lane.id) == []
    await bench.send(queue, order_key="k")
    assert await bench.counts() == {"held": 3}
    assert await bench.release(lane) == {}
    await bench.advance(7 * 86_400)
    assert (await bench.claim()).lanes == []
    assert "it said no" in str(await bench.rows("select held from rung where held <> ''"))


async def test_all_of_a_held_order_group_is_counted_as_held_and_says_why(bench: Bench) -> None:
    queue, lane, head, behind = await pair(bench)
    await bench.became(head, Move.hold, error="it said no")
    await all_held(bench, queue, lane, [head.id, behind.id], "head exhausted: it said no")


async def test_a_queue_that_is_held_for_several_reasons_names_one_and_counts_the_rest(
    bench: Bench,
) -> None:
    queue = await bench.queue()
    for key in "abc":
        await bench.send(queue, order_key=key)
    lane = await bench.take()
    for number, head in enumerate(await bench.due(lane.id)):
        await bench.became(head, Move.hold, error=f"no {number}")
    (row,) = await bench.store.queue_page("default", "", 10)
    assert (row.held, row.because) == (3, "head exhausted: no 0 (and 2 other reasons)")


async def test_a_held_order_group_holds_no_other(bench: Bench) -> None:
    queue, lane, head, _ = await pair(bench)
    await bench.became(head, Move.hold)
    other = await bench.send(queue, order_key="other")
    assert (await bench.only(lane.id)).id == other


async def test_a_lifted_block_does_not_free_a_held_order_group(bench: Bench) -> None:
    queue, lane, head, _ = await pair(bench)
    await bench.became(head, Move.hold)
    await bench.block(queue, lane, 60)
    await bench.unblock(queue, lane)
    assert await bench.due(lane.id) == []
    assert await bench.counts() == {"held": 2}


# A head can go without its owner's word: by its deadline, or by a zombie's late success. Its
# order group must not wait for one that is gone.


async def test_an_expired_head_that_waited_frees_its_order_group(bench: Bench) -> None:
    _, lane, head, behind = await pair(bench, ttl_s=60)
    await bench.became(head, Move.climb, after_s=LADDER_S)
    await bench.advance(60)
    assert (await bench.store.sweep(10)).expired == 1
    assert [m.id for m in await bench.due(lane.id)] == [behind.id]


async def test_an_expired_head_frees_its_order_group_for_claiming(bench: Bench) -> None:
    _, lane, head, behind = await pair(bench, ttl_s=60)
    await bench.became(head, Move.climb, after_s=LADDER_S)
    await bench.release(lane)
    await bench.advance(60)
    assert (await bench.store.sweep(10)).expired == 1
    assert (await bench.only((await bench.take()).id)).id == behind.id


async def test_an_expired_head_that_held_its_order_group_frees_it(bench: Bench) -> None:
    _, lane, head, behind = await pair(bench, ttl_s=60)
    await bench.became(head, Move.hold)
    await bench.advance(60)
    assert (await bench.store.sweep(10)).expired == 1
    assert [m.id for m in await bench.due(lane.id)] == [behind.id]
    assert await bench.counts() == {"waiting": 1, "dead": 1}


async def test_one_that_expires_behind_a_held_head_frees_nothing(bench: Bench) -> None:
    queue, lane, head, _ = await pair(bench)
    await bench.send(queue, order_key="k", ttl_s=60)
    await bench.became(head, Move.hold)
    await bench.advance(60)
    assert (await bench.store.sweep(10)).expired == 1
    assert await bench.due(lane.id) == []
    assert await bench.counts() == {"held": 2, "dead": 1}


async def test_one_that_expires_behind_a_waiting_head_lets_nothing_overtake_it(
    bench: Bench,
) -> None:
    queue, lane, head, _ = await pair(bench)
    await bench.send(queue, order_key="k", ttl_s=60)
    await bench.became(head, Move.climb, level=3, after_s=LADDER_S)
    await bench.advance(60)
    assert (await bench.store.sweep(10)).expired == 1
    assert await bench.due(lane.id) == []
    assert await bench.release(lane) == {3: bench.at(LADDER_S - 60)}


async def test_a_freed_order_group_rings_its_owner(bench: Bench) -> None:
    _, lane, head, behind = await pair(bench, ttl_s=60)
    await bench.became(head, Move.climb, after_s=LADDER_S)
    await bench.advance(60)
    heard = bench.listen()
    await bench.store.sweep(10)
    await heard.until(lambda: lane.id in [rung_lane for rung_lane, _, _ in heard.lane])
    assert behind.id in {m.id for m in await bench.due(lane.id)}


async def test_the_last_word_on_an_expired_head_does_not_hold_its_order_group(bench: Bench) -> None:
    _, lane, head, behind = await pair(bench, ttl_s=60)
    await bench.advance(60)
    assert (await bench.store.sweep(10)).expired == 1
    await bench.became(head, Move.hold)
    assert [m.id for m in await bench.due(lane.id)] == [behind.id]


async def test_the_last_word_on_an_expired_head_does_not_delay_its_order_group(
    bench: Bench,
) -> None:
    _, lane, head, behind = await pair(bench, ttl_s=60)
    await bench.advance(60)
    assert (await bench.store.sweep(10)).expired == 1
    await bench.became(head, Move.climb, after_s=LADDER_S)
    assert [m.id for m in await bench.due(lane.id)] == [behind.id]


async def test_a_zombies_success_frees_an_order_group_that_waits_for_its_head(bench: Bench) -> None:
    _, stale, head, behind = await pair(bench)
    old = await bench.vanish()
    lane = await bench.take()
    again, _ = await bench.due(lane.id)
    await bench.became(again, Move.climb, after_s=LADDER_S)
    await bench.became(head, Move.deliver, owner=old, epoch=stale.epoch)
    assert [m.id for m in await bench.due(lane.id)] == [behind.id]


async def test_a_zombies_success_frees_an_order_group_that_its_head_held(bench: Bench) -> None:
    _, stale, head, behind = await pair(bench)
    old = await bench.vanish()
    lane = await bench.take()
    again, _ = await bench.due(lane.id)
    await bench.became(again, Move.hold)
    await bench.became(head, Move.deliver, owner=old, epoch=stale.epoch)
    assert [m.id for m in await bench.due(lane.id)] == [behind.id]
