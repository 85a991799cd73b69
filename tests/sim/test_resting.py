"""Lanes that have nothing to do: kept for a while, given back, and then forgotten."""

import asyncio
import gc
import tracemalloc
import weakref
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from postroad.engine import owned_lanes
from postroad.engine.engine import Engine
from postroad.model.limits import Limits
from postroad.model.record import Claim
from postroad.pacing.pacer import AheadReserver
from tests.rig import receivers
from tests.rig.world import World, simulate

FEW_AT_ONCE = Limits(in_flight_max=8, claim_batch=4)
SERVERS = 160
EACH = 30
A_WORKER = 800
"""Bytes at least, with what is made for it."""


async def count_owned(world: World) -> int:
    """How many lanes somebody owns, by the store."""
    count = "select count(*) from lane where owner is not null"
    rows = await world.store.read("insight", lambda db: db.connection.execute(count).fetchall())
    return int(str(rows[0][0]))


async def most_owned(world: World) -> int:
    """Serve many lanes with one message each, for six seconds; answers how many were owned at most,
    and sees that in the end nobody has any."""
    for n in range(SERVERS):
        world.behaviours[f"s{n}"] = receivers.good(seconds=0.3)
        await world.send(f"sim://s{n}/a")
    world.start("one")
    most = 0
    while len(world.ledger.book) < SERVERS:
        await asyncio.sleep(0.1)
        most = max(most, await count_owned(world))
    await asyncio.sleep(10)
    assert await count_owned(world) == 0
    world.check(await world.settled(within_s=60))
    return most


def test_lanes_that_rest_are_kept_while_there_is_more_to_claim() -> None:
    """Giving back can wait, messages should not."""

    async def story(world: World) -> None:
        assert await most_owned(world) >= SERVERS - 16

    simulate(1, story, FEW_AT_ONCE)


def test_not_too_many_lanes_that_rest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond that they go after two seconds, as they do when there is nothing more to claim."""
    monkeypatch.setattr(owned_lanes, "KEPT_MAX", 40)

    async def story(world: World) -> None:
        assert 40 <= await most_owned(world) <= SERVERS - 40

    simulate(1, story, FEW_AT_ONCE)


def reservers() -> list[AheadReserver]:
    """All that are in memory."""
    return [one for one in gc.get_objects() if type(one) is AheadReserver]


@pytest.mark.wide
def test_lanes_that_were_given_back_are_forgotten() -> None:
    """The collector does not walk over the workers of lanes: nothing that one holds, or that holds
    one for a while, may keep it for ever, whatever it lived through."""

    async def story(world: World) -> None:
        back_ms = world.clock.now_ms() + 20_000
        kinds = {
            "good": receivers.good(),
            "flaky": receivers.flaky(0.5),
            "away": receivers.away_until(back_ms),
            "full": receivers.quota_until(back_ms),
            "slow": receivers.good(),
        }
        world.start("one")
        for n in range(EACH):
            for kind, behaviour in kinds.items():
                world.behaviours[f"{kind}{n}"] = behaviour
                if kind == "slow":
                    await world.send(f"sim://{kind}{n}/a", delay=1.0)
                    await world.client.limit(f"sim://{kind}{n}/a", "1/s")
                for _ in range(4):
                    await world.send(f"sim://{kind}{n}/a")
        world.check(await world.settled(within_s=4 * 3600))
        await asyncio.sleep(60)
        assert await count_owned(world) == 0
        made_here = tracemalloc.Filter(inclusive=True, filename_pattern="*/engine/lane_worker.py")
        kept = tracemalloc.take_snapshot().filter_traces([made_here]).statistics("filename")
        # Python itself keeps some dozens of small objects to use again.
        assert sum(line.size for line in kept) < len(kinds) * EACH * A_WORKER / 20
        assert len(reservers()) == len(earlier)

    earlier = reservers()  # other tests may have left some
    gc.disable()
    tracemalloc.start()
    try:
        simulate(1, story)
    finally:
        tracemalloc.stop()
        gc.enable()


def test_a_clock_that_is_set_back_does_not_keep_lanes() -> None:
    """How long a lane has rested is no matter of the time of day."""

    async def story(world: World) -> None:
        world.start("one")
        await world.send("sim://first/a")
        await asyncio.sleep(1)
        world.clock._start_ms -= 3_600_000
        for n in range(20):
            await world.send(f"sim://s{n}/a")
        await asyncio.sleep(60)
        assert await count_owned(world) == 0

    simulate(1, story)


def test_lanes_that_another_process_is_to_have_are_given_back_under_pressure() -> None:
    """They are not kept for themselves: somebody waits for them."""

    async def story(world: World) -> None:
        for n in range(SERVERS):
            world.behaviours[f"s{n}"] = receivers.good(seconds=0.3)
            await world.send(f"sim://s{n}/a")
        claim = world.store.claim
        told: list[int] = []

        async def claim_with_surplus(
            owner: int,
            levels: Sequence[int],
            pools: Sequence[str],
            limit: int,
            without: Sequence[str] = (),
        ) -> Claim:
            claimed = await claim(owner, levels, pools, limit, without)
            count = await count_owned(world)
            if told or count < SERVERS // 2:
                return claimed
            told.append(count)
            return replace(claimed, surplus=count // 2)

        world.store.claim = claim_with_surplus  # type: ignore[method-assign]
        world.start("one")
        while not told:
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        assert await count_owned(world) < told[0] - told[0] // 3
        assert len(world.ledger.book) < SERVERS, "there was no pressure any more"
        world.check(await world.settled(within_s=60))

    simulate(1, story, FEW_AT_ONCE)


@pytest.mark.parametrize("limit", [None, "50/s"])
def test_an_engine_that_stopped_is_forgotten(limit: str | None) -> None:
    """Also one that took over lanes with a limit, and noted what it started there."""
    engines: list[weakref.ref[Engine]] = []

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(seconds=0.5)
        for _ in range(20):
            await world.send("sim://ash/a")
        await world.client.limit("sim://ash/a", limit)
        world.start("one")
        await asyncio.sleep(0.3)
        two = world.start("two")
        world.crash("one")
        world.check(await world.settled(within_s=600))
        assert two.road.engine is not None
        engines.append(weakref.ref(two.road.engine))
        await world.stop("two")

    simulate(1, story)
    gc.collect()
    assert engines[0]() is None
