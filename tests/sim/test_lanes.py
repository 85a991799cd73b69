"""Lanes in simulated time: quotas, slow recipients, dead servers, probes."""

import asyncio
from collections import Counter
from itertools import pairwise

import pytest

from postroad.model.limits import Limits
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.world import World, simulate


def starts_of(world: World, queue: str) -> list[float]:
    """When tries at a queue started, in seconds since the beginning."""
    return sorted(
        (r.started_ms - world.clock.now_ms()) / 1000 + world.loop.time()
        for r in world.ledger.book
        if r.queue == queue
    )


def test_a_queue_over_quota_never_delays_another_on_its_lane() -> None:
    """The first of the two tests that made seed 000's origin give up per-server delivery."""

    async def story(world: World) -> None:
        full_until_ms = world.clock.now_ms() + 3_600_000
        world.behaviours["sim://ash/full"] = receivers.quota_until(full_until_ms)
        world.start("one")
        for _ in range(50):
            await world.send("sim://ash/full")
            await world.send("sim://ash/free")
        await asyncio.sleep(2)
        states = Counter((await world.store.states()).values())
        assert states == {State.delivered: 50, State.held: 50}
        assert max(starts_of(world, "sim://ash/free")) < 1
        # One round of what was in flight met the quota; then nothing until the hold-off ends.
        await asyncio.sleep(130)
        assert max(starts_of(world, "sim://ash/full")) < 1
        world.check(await world.settled(within_s=8 * 3600))
        assert Counter((await world.store.states()).values()) == {State.delivered: 100}

    simulate(1, story)


def test_a_slow_queue_does_not_block_a_fast_one() -> None:
    """The second of the two: slow sends fill the window, and the fast queue still goes."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/slow"] = receivers.good(seconds=15.0)
        world.start("one")
        for _ in range(300):
            await world.send("sim://ash/slow")
        await asyncio.sleep(1)
        for _ in range(20):
            await world.send("sim://ash/fast")
        await asyncio.sleep(2)
        assert len(starts_of(world, "sim://ash/fast")) == 20

    simulate(2, story)


def test_a_million_waiting_get_the_same_turn_as_three() -> None:
    """Three messages of a quiet queue go at once although a busy one has hundreds before them."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(seconds=1.0)
        world.start("one")
        for _ in range(500):
            await world.send("sim://ash/busy")
        await asyncio.sleep(0.5)
        for _ in range(3):
            await world.send("sim://ash/quiet")
        await asyncio.sleep(4)
        assert len(starts_of(world, "sim://ash/quiet")) == 3

    simulate(3, story)


@pytest.mark.wide
def test_five_hundred_queues_on_a_dead_server_cost_few_connects() -> None:
    """At most 4 windows of connects before the circuit opens, then one per interval."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.away_until(world.clock.now_ms() + 3_600_000)
        for n in range(500):
            await world.send(f"sim://ash/q{n}")
        world.start("one")
        await asyncio.sleep(1)
        before = len(world.ledger.book)
        assert before <= 4 * Limits().window
        await asyncio.sleep(1800)
        probes = sorted(r.started_ms for r in world.ledger.book)[before:]
        gaps_s = [(b - a) / 1000 for a, b in pairwise(probes)]
        # 2, 4, 8 … 300 s, each ± 25 %: half an hour has room for about fourteen probes.
        assert 8 <= len(probes) <= 20
        assert min(gaps_s) >= 1.5
        assert max(gaps_s) <= 380
        world.check(await world.settled(within_s=8 * 3600))
        assert Counter((await world.store.states()).values()) == {State.delivered: 500}

    simulate(4, story)


def test_one_unreachable_recipient_does_not_open_the_circuit_of_its_server() -> None:
    """Its server answers others: only its queue is held, without spending a level."""

    async def story(world: World) -> None:
        back_ms = world.clock.now_ms() + 600_000
        world.behaviours["sim://ash/gone"] = receivers.away_until(back_ms)
        world.start("one")
        await world.send("sim://ash/gone")
        for _ in range(200):
            await world.send("sim://ash/fine")
            await asyncio.sleep(0.5)
        assert len(starts_of(world, "sim://ash/fine")) == 200
        states = await world.settled(within_s=3600)
        assert set(states.values()) == {State.delivered}
        assert {r.level for r in world.ledger.book} == {0}
        world.check(states)

    simulate(5, story)


@pytest.mark.wide
def test_a_thousand_due_at_the_last_level_are_claimed_in_full_batches() -> None:
    """⌈1000 ÷ batch⌉ + 1 claims: never one row a tick."""
    batch = 64

    async def story(world: World) -> None:
        for n in range(1000):
            await world.send(f"sim://server-{n}/a")
        # All fail at every level, with nobody else serving, until the last one is due.
        db = world.store._databases[0].connection
        last = world.clock.now_ms() + 60_000
        db.execute("begin immediate")
        db.execute("update rung set level = 6, ready_at = ?", (last,))
        db.execute("update message set level = 6, due = ?, place = ?", (last, last))
        db.execute("update lane_level set level = 6, ready_at = ?", (last,))
        db.execute("commit")
        member = world.start("one")
        await asyncio.sleep(30)
        before = world.store.claims
        await asyncio.sleep(60)
        assert Counter((await world.store.states()).values()) == {State.delivered: 1000}
        assert world.store.claims - before <= -(-1000 // batch) + 1
        assert member.road.engine is not None

    simulate(6, story, Limits(claim_batch=batch, linger_ms=600_000))
