"""The slot ledger: every store gives the slots that the pure function gives."""

import random
from collections.abc import Sequence

import pytest

from postroad.model.entities import Lane, Queue
from postroad.model.explain import explain, explain_queue
from postroad.model.facts import MessageFacts
from postroad.model.pace import (
    AHEAD_US,
    BLOCK_US,
    NEVER_US,
    Ask,
    Grant,
    Ledger,
    Limit,
    Share,
    read_limit,
    reserve,
)
from postroad.model.record import Look
from postroad.model.states import State
from tests.contract.bench import Bench

SPACING_US = 21_600
"""Of 50/s: (1 s + 80 ms) / 50."""


async def limited(bench: Bench, name: str, rate: str, cost: int = 1) -> int:
    """A queue with a limit of its own; answers its ledger."""
    queue = await bench.queue(name)
    await bench.store.limit_queue(queue.id, read_limit(rate, cost))
    found = await bench.store.find_queue("default", name)
    assert found is not None
    (ledger,) = found.ledgers
    return ledger


async def seen(bench: Bench, lane: Lane, queue: Queue) -> Queue:
    """The queue as the lane's owner sees it."""
    (view,) = await bench.store.look([Look(lane.id, -1, (), (queue.id,))])
    (found,) = view.queues
    return found


async def ask(bench: Bench, *asks: Ask) -> Sequence[Grant]:
    reserved = await bench.store.reserve(asks)
    assert reserved.now_us == bench.now_ms * 1000
    return reserved.grants


async def test_a_block_lasts_250_ms_and_the_next_one_follows_it(bench: Bench) -> None:
    ledger, now_us = await limited(bench, "shop", "50/s"), bench.now_ms * 1000
    (first,) = await ask(bench, Ask((ledger,), "a", 100))
    assert first.at_us == tuple(now_us + n * SPACING_US for n in range(12))
    (second,) = await ask(bench, Ask((ledger,), "b", 3))
    assert second.at_us == ()
    assert second.again_us == now_us + 12 * SPACING_US - AHEAD_US
    await bench.advance(0.01)
    (second,) = await ask(bench, Ask((ledger,), "b", 3))
    assert second.at_us == tuple(now_us + n * SPACING_US for n in range(12, 15))


async def test_what_was_not_used_in_time_is_not_carried_over(bench: Bench) -> None:
    ledger = await limited(bench, "shop", "50/s")
    await ask(bench, Ask((ledger,), "a", 1))
    await bench.advance(3600)
    (grant,) = await ask(bench, Ask((ledger,), "a", 100))
    assert grant.at_us[0] == bench.now_ms * 1000
    assert grant.at_us[-1] - grant.at_us[0] < BLOCK_US
    assert len(grant.at_us) == 12


async def test_a_restart_forgets_nothing(bench: Bench) -> None:
    ledger, now_us = await limited(bench, "shop", "1/min"), bench.now_ms * 1000
    assert [len(g.at_us) for g in await ask(bench, Ask((ledger,), "a", 5))] == [1]
    await bench.reopen()
    await bench.advance(-60)  # the bench let a minute pass
    (grant,) = await ask(bench, Ask((ledger,), "a", 5))
    assert grant.at_us == ()
    assert grant.again_us == now_us + 60_080_000 - AHEAD_US


async def test_a_clock_that_was_set_back_gives_nothing_early(bench: Bench) -> None:
    ledger = await limited(bench, "shop", "50/s")
    (first,) = await ask(bench, Ask((ledger,), "a", 1))
    await bench.advance(-30)
    (second,) = await ask(bench, Ask((ledger,), "a", 1))
    assert second.at_us == ()
    assert second.again_us > first.at_us[0] - AHEAD_US


async def test_an_hour_is_counted_and_has_room_when_its_first_bucket_is_over(bench: Bench) -> None:
    ledger, now_us = await limited(bench, "shop", "50/s,20/h"), bench.now_ms * 1000
    (first,) = await ask(bench, Ask((ledger,), "a", 12))
    await bench.advance(1)
    (second,) = await ask(bench, Ask((ledger,), "a", 12))
    assert (len(first.at_us), len(second.at_us)) == (12, 8)
    assert second.again_us == now_us + 3_660_000_000 + 80_000  # the bucket of this minute
    await bench.advance(3_659)
    (third,) = await ask(bench, Ask((ledger,), "a", 12))
    assert third.at_us == ()
    await bench.advance(0.081)
    (third,) = await ask(bench, Ask((ledger,), "a", 12))
    assert len(third.at_us) == 12


async def test_a_start_may_cost_more_than_one(bench: Bench) -> None:
    ledger = await limited(bench, "shop", "50/s", cost=3)
    spacing_us = read_limit("50/s", 3).spacing_us
    assert spacing_us == 1_080_000 // 48
    (grant,) = await ask(bench, Ask((ledger,), "a", 3))
    assert grant.at_us[1] - grant.at_us[0] == 3 * spacing_us
    (one, two) = await ask(bench, Ask((ledger,), "a", 1, cost=2), Ask((ledger,), "a", 1, cost=1))
    assert two.at_us[0] - one.at_us[0] == 2 * spacing_us
    (never,) = await ask(bench, Ask((ledger,), "a", 1, cost=4))
    assert never == Grant((), NEVER_US)


async def test_one_above_its_share_is_refused_while_another_waits(bench: Bench) -> None:
    ledger = await limited(bench, "shop", "50/s")
    greedy, modest = Ask((ledger,), "greedy", 12), Ask((ledger,), "modest", 12)
    for _ in range(2):
        (grant,) = await ask(bench, greedy)
        assert len(grant.at_us) == 12
        (waits,) = await ask(bench, modest)  # comes second each time
        assert not waits.at_us
        await bench.advance(0.26)
    (refused,) = await ask(bench, greedy)
    assert not refused.at_us  # although slots are free
    (served,) = await ask(bench, modest)
    assert len(served.at_us) == 12
    await bench.advance(0.26)
    (grant,) = await ask(bench, greedy)
    assert len(grant.at_us) == 12


async def test_one_who_waits_and_is_gone_holds_nobody_up(bench: Bench) -> None:
    ledger = await limited(bench, "shop", "50/s")
    await ask(bench, Ask((ledger,), "a", 12))
    await bench.advance(0.02)
    await ask(bench, Ask((ledger,), "a", 12))
    await ask(bench, Ask((ledger,), "gone", 12))
    await bench.advance(1.2)
    (grant,) = await ask(bench, Ask((ledger,), "a", 12))
    assert grant.at_us


async def test_a_limit_is_changed_and_lifted_and_the_owners_are_told(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    heard = bench.listen()
    await bench.store.limit_queue(queue.id, read_limit("50/s"))
    await bench.store.limit_lane(lane.id, read_limit("10/s"))
    await heard.until(lambda: heard.lane.count((lane.id, 0, 0)) == 2)
    ledgers = (await seen(bench, lane, queue)).ledgers
    assert len(ledgers) == 2
    assert await bench.store.ledgers(lane.key) == ledgers[:1]
    await bench.store.limit_queue(queue.id, None)
    await bench.store.limit_lane(lane.id, None)
    assert (await seen(bench, lane, queue)).ledgers == ()
    assert await bench.store.ledgers(lane.key) == ()
    (grant,) = await ask(bench, Ask(ledgers, "a", 3))
    assert len(grant.at_us) == 3  # one who does not know yet is not held up


async def test_whoever_claims_a_lane_hears_of_its_limits_before_anything_starts(
    bench: Bench,
) -> None:
    queue = await bench.queue()
    await bench.store.limit_queue(queue.id, read_limit("50/s"))
    await bench.send(queue)
    claim = await bench.claim()
    (lane,) = claim.lanes
    views = claim.views or await bench.store.look([Look(lane.id, -1)])
    assert [len(found.ledgers) for view in views for found in view.queues] == [1]


async def test_slots_that_are_reserved_count_by_the_new_limit_too(bench: Bench) -> None:
    ledger, now_us = await limited(bench, "shop", "50/s"), bench.now_ms * 1000
    await ask(bench, Ask((ledger,), "a", 12))
    (queue,) = await bench.rows("select id from queue")
    await bench.store.limit_queue(queue[0], read_limit("10/s"))
    (grant,) = await ask(bench, Ask((ledger,), "a", 1))
    assert grant.again_us + AHEAD_US == now_us + 11 * SPACING_US + 14 * 108_000


async def test_a_limit_that_is_raised_holds_nobody_up_by_the_old_one(bench: Bench) -> None:
    ledger = await limited(bench, "shop", "1/min")
    await ask(bench, Ask((ledger,), "a", 1))
    await bench.advance(1)
    (queue,) = await bench.rows("select id from queue")
    await bench.store.limit_queue(queue[0], read_limit("10/s"))
    (grant,) = await ask(bench, Ask((ledger,), "a", 1))
    assert grant.at_us == (bench.now_ms * 1000,)


async def test_a_lane_that_is_not_there_cannot_be_limited(bench: Bench) -> None:
    assert not await bench.store.limit_lane(4711, read_limit("50/s"))


@pytest.mark.parametrize("seed", range(4))
async def test_it_does_what_the_pure_function_does(bench: Bench, seed: int) -> None:
    rng = random.Random(seed)
    limits = [
        read_limit(rng.choice(["50/s", "7/s,90/min", "2000/s,3000/h"]), rng.choice([1, 1, 3])),
        read_limit(rng.choice(["5/s", "30/s,40/h", "1/min", "100/h,500/d"])),
    ]
    numbers = [await limited(bench, f"q{n}", x.text, x.cost) for n, x in enumerate(limits)]
    ledgers = {number: made(number, x) for number, x in zip(numbers, limits, strict=True)}
    shares: dict[int, dict[str, Share]] = {number: {} for number in numbers}
    for _ in range(60):
        asks = [draw(rng, numbers) for _ in range(rng.choice([1, 1, 2]))]
        grants = await ask(bench, *asks)
        for asked, grant in zip(asks, grants, strict=True):
            mine = [ledgers[number] for number in asked.ledgers]
            now_us = bench.now_ms * 1000
            assert grant == reserve(asked, mine, shares[asked.ledgers[0]], now_us)
        await bench.advance(rng.choice([0, 0.001, 0.02, 0.1, 0.3, 2, 70, 3_000]))


def made(number: int, limit: Limit) -> Ledger:
    return Ledger(number, limit.cost, limit.spacing_us, limit.counted, 0, {})


def draw(rng: random.Random, numbers: list[int]) -> Ask:
    chosen = rng.choice([(numbers[0],), (numbers[1],), (numbers[0], numbers[1])])
    name, starts = rng.choice("abc"), rng.choice([1, 3, 50])
    return Ask(chosen, name, starts, rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 30_000]))


async def test_a_used_up_limit_is_the_reason_that_explain_shows(bench: Bench) -> None:
    queue = await bench.queue()
    number = await bench.send(queue)
    assert (await bench.store.message_facts("default", number)) is not None
    await bench.store.limit_queue(queue.id, read_limit("50/s,3/h"))
    await bench.store.limit_lane(queue.lanes[0], read_limit("10/min"))
    facts = await facts_of(bench, number)
    assert [(p.shared, p.limit) for p in facts.paces] == [(True, "10/min"), (False, "50/s,3/h")]
    assert explain(facts, bench.now_ms).blocks == ()
    (grant,) = await ask(bench, Ask(facts.queue.ledgers[1:], "a", 3))
    assert len(grant.at_us) == 3
    told = explain(await facts_of(bench, number), bench.now_ms)
    (hold,) = told.blocks
    assert (hold.scope, hold.kind, hold.reason) == ("queue", "pace", "no more than 50/s,3/h")
    assert told.state is State.waiting
    assert told.next.not_before_ms == hold.until_ms
    assert 3_600_000 <= (hold.until_ms or 0) - bench.now_ms <= 3_661_000
    assert "its limit has a rate slot" in told.sentence
    queued = await bench.store.queue_facts("default", "shop")
    laned = await bench.store.lane_facts(queue.lanes[0])
    assert queued is not None
    assert laned is not None
    assert [p.limit for p in queued.paces] == ["10/min", "50/s,3/h"]
    assert [p.limit for p in laned.paces] == ["10/min"]
    said = explain_queue(queued, bench.now_ms).sentence
    assert "A limit is used up for now: no more than 50/s,3/h." in said


async def facts_of(bench: Bench, number: int) -> MessageFacts:
    facts = await bench.store.message_facts("default", number)
    assert facts is not None
    return facts
