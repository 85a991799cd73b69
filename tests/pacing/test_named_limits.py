"""A named limit over several lanes, in simulated time, and in three real processes."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

import pytest

from postroad.model.errors import BadInput
from postroad.model.ids import to_text
from postroad.model.limits import Limits
from postroad.model.pace import read_limit
from postroad.model.states import State
from tests.pacing.killing import run_named
from tests.pacing.test_lanes import begin, fill, lane_of, starts
from tests.pacing.windows import breaches
from tests.rig.world import World, simulate
from tests.servers.postgres import PrivatePostgres

SERVERS = ("ash", "oak", "elm")


def test_lanes_under_one_named_limit_get_equal_shares_of_it() -> None:
    async def story(world: World) -> None:
        for server, count in zip(SERVERS, (300, 60, 60), strict=True):
            await fill(world, f"sim://{server}/x", count)
        await world.client.limits.put("all of them", lanes="sim:*", rate="20/s")
        await world.client.limit(await lane_of(world, "sim://ash/x"), "50/s")
        for name in ("one", "two"):
            world.start(name)
        await asyncio.sleep(6)
        counts = Counter(r.queue for r in world.ledger.book)
        assert max(counts.values()) - min(counts.values()) <= 6, counts
        assert 90 < sum(counts.values()) <= 120, counts
        world.check(await world.settled(within_s=60))
        assert breaches(read_limit("20/s"), [(at_s * 1e6, 1) for at_s in starts(world)]) == []

    simulate(1, story)


def test_owners_that_crash_and_stall_keep_to_a_limit_over_many_lanes() -> None:
    quick = Limits(lease_ms=3_000, stale_ms=2_000, beat_ms=700, linger_ms=1_000)
    rate = "8/s,100/min"

    def seen(seed: int, *, named: bool) -> list[str]:
        came: dict[str, list[tuple[float, int]]] = {server: [] for server in SERVERS}

        async def story(world: World) -> None:
            for server in SERVERS:
                await fill(world, f"sim://{server}/x", 40)
                if not named:
                    await world.client.limit(await lane_of(world, f"sim://{server}/x"), rate)
            if named:
                await world.client.limits.put("all of them", lanes="sim:*", rate=rate)
            for name in ("one", "two", "three"):
                begin(world, name, came)
            for turn in range(8):
                await asyncio.sleep(world.loop.rng.uniform(0.3, 2))
                name = world.loop.rng.choice(sorted(world.members))
                if turn % 2:
                    world.pause(name, world.loop.rng.uniform(0.1, 8))
                else:
                    world.crash(name)
                    begin(world, f"{name}+", came)
            world.check(await world.settled(within_s=600))

        simulate(seed, story, quick)
        return breaches(read_limit(rate), [start for each in came.values() for start in each])

    assert [seen(seed, named=True) for seed in range(2)] == [[], []]
    assert seen(0, named=False) != []  # each lane for itself


def test_a_named_limit_begins_and_ends_while_lanes_are_busy() -> None:
    async def story(world: World) -> None:
        for server in SERVERS:
            await fill(world, f"sim://{server}/x", 200)
        await world.client.limits.put("slow", lanes="sim:*", rate="1/min")
        world.start("one")
        await asyncio.sleep(10)
        assert len(starts(world)) == 1
        await world.client.limits.put("slow", lanes="sim:ash", rate="1/min")
        await asyncio.sleep(5)
        counts = Counter(r.queue for r in world.ledger.book)
        assert (counts["sim://oak/x"], counts["sim://elm/x"]) == (200, 200)
        assert counts["sim://ash/x"] <= 1
        await world.client.limits.delete("slow")
        world.check(await world.settled(within_s=10))

    simulate(3, story)


def test_outside_the_allowed_hours_messages_wait_and_say_so() -> None:
    async def story(world: World) -> None:
        queue, other = "sim://ash/x", "sim://oak/x"
        numbers = await fill(world, queue, 20)
        start_ms = world.clock.now_ms()
        opening, closing = (clock(start_ms, minutes) for minutes in (5, 6))
        hours = f"{opening}-{closing}"
        await world.client.limits.put("short", lanes="sim:ash", rate="10/min", hours=hours)
        world.start("one")
        await fill(world, other, 5)
        await asyncio.sleep(60)
        assert (len(starts(world, queue)), len(starts(world, other))) == (0, 5)
        opens_ms = start_ms - start_ms % 60_000 + 5 * 60_000
        told = await world.client.explain(to_text(numbers[-1]))
        assert (told.state, told.next.not_before_ms) == (State.waiting, opens_ms)
        (block,) = told.blocks
        assert block.kind == "hours"
        assert block.reason == f"outside the allowed hours {hours} UTC"
        assert "its allowed hours begin then" in told.sentence
        shown = await world.client.explain_queue(queue)
        assert shown.blocks[0].reason == f"only {hours} UTC, limit 'short'"
        await asyncio.sleep(600)
        seen = [at_s * 1000 - opens_ms for at_s in starts(world, queue)]
        assert len(seen) == 10
        assert 0 <= min(seen) <= max(seen) < 60_000
        told = await world.client.explain(to_text(numbers[-1]))
        assert told.next.not_before_ms == opens_ms + 86_400_000

    simulate(4, story)


def test_a_message_waits_by_the_clock_of_its_own_zone() -> None:
    async def story(world: World) -> None:
        start_ms = world.clock.now_ms()
        hours = f"{clock(start_ms, 60)}-{clock(start_ms, 120)}"  # in UTC an hour from now
        await world.client.limits.put("short", lanes="sim:ash", hours=hours)
        zones = {"UTC": 3_600_000, "Europe/Berlin": 0}  # where it is an hour later
        sent = {
            zone: await world.client.send("sim://ash/x", 1, headers={"postroad-zone": zone})
            for zone in zones
        }
        world.start("one")
        await asyncio.sleep(10)
        assert len(starts(world)) == 1
        told = await world.client.explain(sent["UTC"].id)
        assert told.next.not_before_ms == start_ms - start_ms % 60_000 + 3_600_000
        with pytest.raises(BadInput, match="not a time zone"):
            await world.client.send("sim://ash/x", 1, headers={"postroad-zone": "Mars/Olympus"})

    simulate(5, story)


def clock(now_ms: int, minutes: int) -> str:
    """What the clock will show then."""
    return datetime.fromtimestamp(now_ms / 1000 + 60 * minutes, UTC).strftime("%H:%M")


def test_three_processes_keep_to_one_limit_over_five_lanes(server: PrivatePostgres) -> None:
    """The short twin of `make proof ITEM=named-limit`."""
    seen = run_named(server.create_road(), 3.0)
    assert seen.most <= seen.rate, seen
    assert (seen.processes, seen.lanes) == (3, 5), seen
    assert seen.starts > seen.rate, seen
