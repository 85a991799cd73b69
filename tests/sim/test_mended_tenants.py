"""What was once wrong where lanes of a crowd are left out by claims."""

import asyncio

import pytest

from postroad.model.limits import Limits
from postroad.model.record import Claim
from tests.rig import receivers
from tests.rig.watched import WatchedStore
from tests.rig.world import World, simulate

LANES = 40


def test_lanes_that_a_claim_left_out_are_claimed_when_the_crowd_ended_before_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They waited for the safety poll: nobody was left whose end would have told of them."""
    claim = WatchedStore.claim

    async def slow(store: WatchedStore, owner: int, *ask: object) -> Claim:
        if ask[-1]:
            await asyncio.sleep(1)  # all that the crowd has here ends meanwhile
        return await claim(store, owner, *ask)  # type: ignore[arg-type]

    monkeypatch.setattr(WatchedStore, "claim", slow)

    async def story(world: World) -> None:
        for n in range(LANES):
            world.behaviours[f"s{n}"] = receivers.good(seconds=0.5)
            await world.send(f"sim://s{n}/a")
        world.start("one")
        world.check(await world.settled(within_s=20))
        assert len(world.ledger.book) == LANES

    simulate(1, story, Limits(in_flight_max=16, claim_batch=16))


def test_a_tenant_that_hangs_leaves_its_neighbour_the_room_that_is_for_others() -> None:
    """Once it had `in_flight_max` the pool of both counted as full, and lanes of the neighbour were
    woken by the poll alone: 6 of 30 after 8 s."""

    async def story(world: World) -> None:
        for n in range(LANES):
            world.behaviours[f"hangs{n}"] = receivers.good(seconds=19)
            await world.send(f"sim://hangs{n}/a", tenant="hangs")
        world.start("one")
        await asyncio.sleep(2)
        for n in range(LANES):
            await world.send(f"sim://quick{n}/a", tenant="quick")
        await asyncio.sleep(8)
        assert len([one for one in world.ledger.book if one.lane.startswith("quick")]) == LANES
        world.check(await world.settled(within_s=120))

    simulate(1, story, Limits(in_flight_max=16))
