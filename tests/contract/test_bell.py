"""The bell: who hears what, after it is stored."""

import pytest

from postroad.model.decide import Move
from tests.contract.bench import Bench


async def test_work_for_a_lane_that_nobody_owns_is_told_to_everyone(bench: Bench) -> None:
    queue = await bench.queue()
    everyone = [bench.listen(), bench.listen(await bench.store.join())]
    await bench.send(queue)
    await everyone[0].until(lambda: (0, bench.now_ms) in everyone[0].ready)
    await everyone[1].until(lambda: (0, bench.now_ms) in everyone[1].ready)
    assert [heard.lane for heard in everyone] == [[], []]


async def test_the_first_work_of_a_level_is_told_with_its_time(bench: Bench) -> None:
    queue = await bench.queue()
    heard = bench.listen()
    await bench.send(queue, after_s=9)
    await heard.until(lambda: (0, bench.at(9)) in heard.ready)
    await bench.send(queue, after_s=4)
    await heard.until(lambda: (0, bench.at(4)) in heard.ready)


async def test_work_for_an_owned_lane_is_told_to_its_owner(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    (rung,) = (await bench.view(lane.id)).rungs
    heard = bench.listen()
    await bench.send(queue, after_s=5)
    await heard.until(lambda: (lane.id, rung.id, bench.at(5)) in heard.lane)
    assert heard.ready == []


async def test_the_ring_of_a_blocked_rung_names_the_end_of_its_block(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    block = await bench.block(queue, lane, 180)
    heard = bench.listen()
    await bench.send(queue)
    await heard.until(lambda: [due_ms for _, _, due_ms in heard.lane] == [block.until_ms])


async def test_a_peers_lane_rings_for_its_owner_only(bench: Bench) -> None:
    mine, theirs = await bench.queue("a"), await bench.queue("b")
    await bench.send(theirs)
    await bench.claim(owner=await bench.store.join())
    heard = bench.listen()
    await bench.send(theirs)
    await bench.send(mine)  # what comes after it has been heard, so it would have been too
    await heard.until(lambda: bool(heard.ready))
    assert heard.lane == []


async def test_a_deadline_is_told(bench: Bench) -> None:
    queue = await bench.queue()
    heard = bench.listen()
    await bench.send(queue, ttl_s=30)
    await heard.until(lambda: bench.at(30) in heard.expiry)


async def test_a_lane_given_back_is_told_with_its_next_time(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.climb, after_s=60)
    heard = bench.listen()
    await bench.release(lane)
    await heard.until(lambda: (1, bench.at(60)) in heard.ready)


async def test_a_lane_that_lost_its_owner_is_told(bench: Bench) -> None:
    await bench.send(await bench.queue())
    await bench.take()
    heard = bench.listen()
    ready_ms = bench.now_ms
    await bench.vanish()
    await heard.until(lambda: (0, ready_ms) in heard.ready)


@pytest.mark.parametrize("owned", [True, False])
async def test_an_unblocked_queue_wakes_its_other_lanes(bench: Bench, *, owned: bool) -> None:
    queue = await bench.queue(shards=2)
    await bench.send(queue, shard=0)
    await bench.send(queue, shard=1)
    mine, other = (await bench.claim()).lanes
    peer = await bench.store.join()
    if owned:
        await bench.release(other)
        await bench.claim(owner=peer)
    await bench.block(queue, mine, 180)
    if not owned:
        await bench.release(other)
    heard = bench.listen(peer)
    await bench.unblock(queue, mine)
    if owned:
        await heard.until(lambda: other.id in [lane for lane, _, _ in heard.lane])
    else:
        await heard.until(lambda: (0, bench.now_ms) in heard.ready)


async def test_who_left_hears_nothing(bench: Bench) -> None:
    queue = await bench.queue()
    gone, here = bench.listen(), bench.listen(await bench.store.join())
    await bench.store.leave(bench.owner)
    await bench.send(queue)
    await here.until(lambda: bool(here.ready))
    assert gone.ready == []
