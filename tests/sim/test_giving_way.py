"""A lane that another process is to have is given back at once, or goes on."""

import asyncio

from postroad.model.limits import Limits
from postroad.ports.bell import LEAVE
from postroad.stores.bell import Ring
from tests.rig import receivers
from tests.rig.world import Member, World, simulate

SENDS_S = 15.0


async def asked_to_give_way(world: World) -> Member:
    """While a slow send runs, the lane is asked for by somebody who dies then; a message follows
    that could go at once."""
    world.behaviours["sim://ash/slow"] = receivers.good(seconds=SENDS_S)
    member = world.start("one")
    await world.send("sim://ash/slow")
    await asyncio.sleep(1)
    assert member.road.engine is not None
    ((number, lane),) = member.road.engine.lanes.items()
    world.store.bell.ring([Ring(member.road.owner, number, 0, 0, 0, recall=LEAVE)])
    await asyncio.sleep(0.1)
    assert lane.leaving
    await world.send("sim://ash/fast")
    return member


def fast_ones(world: World) -> int:
    return sum(receipt.queue == "sim://ash/fast" for receipt in world.ledger.book)


def test_a_lane_goes_on_when_a_send_of_it_takes_long() -> None:
    async def story(world: World) -> None:
        member = await asked_to_give_way(world)
        await asyncio.sleep(3)
        assert fast_ones(world) == 1
        # Asked for again, it waits for no more than a moment again.
        assert member.road.engine is not None
        (lane,) = member.road.engine.lanes.values()
        assert not member.road.engine.owned.can_give_way(lane)
        await asyncio.sleep(SENDS_S)
        assert member.road.engine.owned.can_give_way(lane)
        world.check(await world.settled(within_s=60))

    simulate(1, story)


def test_a_lane_for_which_there_is_no_place_is_given_back_when_its_sends_have_ended() -> None:
    async def story(world: World) -> None:
        member = await asked_to_give_way(world)
        assert member.road.engine is not None
        (lane,) = member.road.engine.lanes.values()
        await asyncio.sleep(SENDS_S - 3)
        assert lane.leaving
        assert not fast_ones(world)
        await asyncio.sleep(4)
        assert lane.stopped
        assert fast_ones(world) == 1
        world.check(await world.settled(within_s=60))

    simulate(2, story, Limits(in_flight_max=1))
