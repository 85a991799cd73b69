"""Mended: lanes with an open circuit that nobody woke again."""

import asyncio
from collections.abc import Sequence

from postroad.model.control import CancelState
from postroad.model.entities import Lane
from postroad.model.errors import StoreUnavailable
from postroad.model.ids import to_text
from postroad.model.states import NEVER, State
from tests.rig import receivers
from tests.rig.world import World, simulate


def test_a_lane_that_hears_of_a_pause_while_its_circuit_is_open_still_probes() -> None:
    """It looks at once, and knows all that is ready: the probe's time must wake it all the same."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.away_until(world.clock.now_ms() + 60_000)
        world.start("one")
        for name in ("a", "b", "c"):
            await world.send(f"sim://ash/{name}")
        await asyncio.sleep(0.5)
        await world.client.pause("sim://ash/a")
        await world.client.resume("sim://ash/a")
        states = await world.settled(within_s=1800)
        assert set(states.values()) == {State.delivered}

    simulate(1, story)


def test_a_probe_that_is_cancelled_before_it_starts_does_not_block_its_lane() -> None:
    """Its start could not be noted; the next one is the probe."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.away_until(world.clock.now_ms() + 8_000)
        member = world.start("one")
        first = await world.send("sim://ash/once")
        await asyncio.sleep(5)  # three tries in place have opened the circuit
        marking = asyncio.Event()
        real = world.store.mark

        async def mark(owner: int, lane: Lane, ids: Sequence[int]) -> bool:
            if ids != [first]:
                return await real(owner, lane, ids)
            marking.set()
            await asyncio.sleep(2)
            raise StoreUnavailable("simulated: the store was away")

        world.store.mark = mark  # type: ignore[method-assign]
        await marking.wait()
        after = await world.send("sim://ash/a")
        assert (await member.road.cancel(to_text(first))).state is CancelState.sending
        await asyncio.sleep(600)
        states = await world.store.states()
        assert (states[first], states[after]) == (State.cancelled, State.delivered)

    simulate(2, story)


def test_a_message_that_is_at_fault_does_not_keep_its_lane_shut() -> None:
    """A server that cuts the connection for one recipient takes all others: the next probe is
    another message."""

    async def story(world: World) -> None:
        first = await world.send("sim://ash/a")
        world.behaviours[f"#{first}"] = receivers.away_until(NEVER)
        world.start("one")
        await asyncio.sleep(5)  # its tries in place have opened the circuit
        others = [await world.send("sim://ash/a") for _ in range(5)]
        await asyncio.sleep(60)
        states = await world.store.states()
        assert {states[number] for number in others} == {State.delivered}
        assert states[first] is not State.delivered
        del world.behaviours[f"#{first}"]
        assert set((await world.settled(within_s=1800)).values()) == {State.delivered}

    simulate(3, story)


def test_the_head_of_an_order_group_does_not_keep_its_lane_shut() -> None:
    """Nobody overtakes it in its group: the next probe is of another one."""

    async def story(world: World) -> None:
        first = await world.send("sim://ash/a", order_key="k")
        world.behaviours[f"#{first}"] = receivers.away_until(NEVER)
        behind = await world.send("sim://ash/a", order_key="k")
        world.start("one")
        await asyncio.sleep(5)
        other, third = await world.send("sim://ash/a"), await world.send("sim://ash/b")
        await asyncio.sleep(60)
        states = await world.store.states()
        assert (states[other], states[third]) == (State.delivered, State.delivered)
        assert states[behind] is not State.delivered
        del world.behaviours[f"#{first}"]
        assert set((await world.settled(within_s=1800)).values()) == {State.delivered}

    simulate(4, story)
