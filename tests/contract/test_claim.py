"""Claiming: whole lanes, the longest ready first, by level and pool."""

import asyncio
from math import ceil

import pytest

from postroad.model.decide import Move
from postroad.model.entities import Lane, Queue
from postroad.model.states import NEVER
from tests.contract.bench import LEVELS, Bench


async def climbed(bench: Bench, name: str, level: int, after_s: float = 0) -> Queue:
    """A queue whose one message waits at a level, on a lane that nobody owns."""
    queue = await bench.queue(name)
    await bench.send(queue)
    (lane,) = (await bench.claim([0])).lanes
    message = await bench.only(lane.id)
    await bench.became(message, Move.climb, level=level, after_s=after_s)
    await bench.release(lane)
    return queue


def servers(lanes: list[Lane]) -> list[str]:
    return [lane.key.server for lane in lanes]


async def test_a_claim_takes_the_whole_lane_with_all_its_levels(bench: Bench) -> None:
    queue = await climbed(bench, "shop", 3)
    await bench.send(queue)
    lane = await bench.take()
    assert {m.level for m in await bench.due(lane.id)} == {0, 3}
    assert (await bench.claim()).lanes == []


async def test_an_owned_lane_is_nobody_elses_whatever_arrives(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    await bench.take()
    other = await bench.store.join()
    await bench.send(queue)
    await bench.send(queue, after_s=5)
    await bench.advance(10)
    assert (await bench.claim(owner=other)).lanes == []
    assert (await bench.claim()).lanes == []


async def test_of_owners_that_race_for_a_lane_one_gets_it(bench: Bench) -> None:
    await bench.send(await bench.queue())
    owners = [await bench.store.join() for _ in range(4)]
    claims = await asyncio.gather(*[bench.claim(owner=owner) for owner in owners])
    assert sorted(len(claim.lanes) for claim in claims) == [0, 0, 0, 1]


async def test_every_claim_of_a_lane_has_a_higher_epoch(bench: Bench) -> None:
    await bench.send(await bench.queue())
    epochs: list[int] = []
    for _ in range(3):
        lane = await bench.take()
        epochs.append(lane.epoch)
        await bench.release(lane)
    await bench.take()
    await bench.vanish()
    epochs.append((await bench.take()).epoch)
    assert epochs == sorted(set(epochs))


async def test_a_new_lane_comes_closed_and_unsuspected(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    assert lane.id == queue.lanes[0]
    assert (lane.crashes, lane.paused, lane.circuit.is_open) == (0, False, False)


async def test_only_lanes_of_the_named_pools_are_claimed(bench: Bench) -> None:
    await bench.send(await bench.queue("web"))
    await bench.send(await bench.queue("text", transport="sms"))
    await bench.send(await bench.queue("resize", transport="handler"))
    assert (await bench.claim(pools=[])).lanes == []
    assert (await bench.claim(pools=["handler", "handler:other"])).lanes == []
    assert servers((await bench.claim(pools=["handler:resize"])).lanes) == ["resize"]
    assert servers((await bench.claim(pools=["sms", "web"])).lanes) == ["web", "text"]


async def test_only_lanes_ready_at_the_levels_asked_for_are_claimed(bench: Bench) -> None:
    for level in (1, 2, 4):
        await climbed(bench, f"level {level}", level)
    assert (await bench.claim([0, 3, 5, 6])).lanes == []
    assert servers((await bench.claim([2])).lanes) == ["level 2"]
    assert servers((await bench.claim([4, 1])).lanes) == ["level 1", "level 4"]


@pytest.mark.parametrize("level", [6, 7, 40])
async def test_the_last_poller_serves_all_higher_levels(bench: Bench, level: int) -> None:
    await climbed(bench, "far", level, after_s=10)
    claim = await bench.claim([6])
    assert (claim.lanes, claim.next_at_ms) == ([], {6: bench.at(10)})
    await bench.advance(10)
    (lane,) = (await bench.claim([6])).lanes
    assert (await bench.only(lane.id)).level == level


async def test_the_longest_ready_lane_goes_first(bench: Bench) -> None:
    for name, after_s in (("third", 3), ("first", 1), ("second", 2)):
        await bench.send(await bench.queue(name), after_s=after_s)
    await bench.advance(5)
    found = [servers((await bench.claim(limit=1)).lanes) for _ in range(3)]
    assert found == [["first"], ["second"], ["third"]]


async def test_the_longest_ready_lane_goes_first_whatever_its_level(bench: Bench) -> None:
    await climbed(bench, "old", 5, after_s=1)
    await climbed(bench, "new", 0, after_s=2)
    await bench.advance(5)
    assert servers((await bench.claim(limit=1)).lanes) == ["old"]


@pytest.mark.parametrize(("lanes", "limit"), [(10, 4), (8, 4), (3, 1), (3, 3), (2, 7)])
async def test_a_backlog_is_claimed_in_as_many_claims_as_it_has_batches(
    bench: Bench, lanes: int, limit: int
) -> None:
    for number in range(lanes):
        await bench.send(await bench.queue(f"q{number}"))
    claims = 0
    got: list[str] = []
    full = True
    while full:
        claim = await bench.claim(limit=limit)
        got += servers(claim.lanes)
        assert len(claim.lanes) <= limit
        claims, full = claims + 1, claim.full
    assert sorted(got) == sorted(f"q{number}" for number in range(lanes))
    assert claims <= ceil(lanes / limit) + 1


async def test_a_claim_says_when_each_level_is_ready_next(bench: Bench) -> None:
    await climbed(bench, "minute", 1, after_s=60)
    await climbed(bench, "hour", 1, after_s=3600)
    await climbed(bench, "far", 5, after_s=7200)
    await bench.send(await bench.queue("soon"), after_s=3)
    claim = await bench.claim()
    assert (claim.lanes, claim.full) == ([], False)
    assert set(claim.next_at_ms) == set(LEVELS)
    ready = {level: at_ms for level, at_ms in claim.next_at_ms.items() if at_ms < NEVER}
    assert ready == {0: bench.at(3), 1: bench.at(60), 5: bench.at(7200)}


async def test_what_is_not_due_is_claimed_when_it_is_and_not_before(bench: Bench) -> None:
    await bench.send(await bench.queue(), after_s=3)
    await bench.advance(2.999)
    assert (await bench.claim()).lanes == []
    await bench.advance(0.001)
    assert len((await bench.claim()).lanes) == 1
