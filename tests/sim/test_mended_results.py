"""Mended: results that the store took for others, and tries that nobody counted."""

import asyncio
from collections.abc import Sequence

from postroad.model.control import CancelState
from postroad.model.entities import Lane
from postroad.model.errors import StoreUnavailable
from postroad.model.ids import to_text
from postroad.model.outcome import DELIVERED, failed, unreachable
from postroad.model.record import Record, Recorded
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.world import World, simulate


def record_from(world: World, from_s: float) -> None:
    """Until then no result can be written."""
    real = world.store.record

    async def patched(record: Record) -> Recorded:
        if world.loop.time() < from_s:
            raise StoreUnavailable("simulated: the store was away")
        return await real(record)

    world.store.record = patched  # type: ignore[method-assign]


def test_a_try_after_one_that_is_not_written_yet_counts_for_itself() -> None:
    """A message that waits in place goes back to its rung, and is read there before the store
    knows of its first try: the failure of the second one must not look like the first's."""

    async def story(world: World) -> None:
        refused = (0.01, False, unreachable("refused"))
        world.behaviours["ash"] = lambda _now_ms, _draw: (
            (0.01, False, failed("500")) if world.ledger.book else refused
        )
        world.start("one")
        await asyncio.sleep(1)
        record_from(world, 6.0)
        await world.send("sim://ash/a")
        await asyncio.sleep(0.2)
        await world.client.pause("sim://ash/a")
        await asyncio.sleep(0.2)
        await world.client.resume("sim://ash/a")
        states = await world.settled(within_s=3600)
        assert [r.level for r in world.ledger.book] == [0, 0, 1, 2, 3, 4]
        world.check(states)

    simulate(1, story)


def test_a_try_that_was_cancelled_while_it_went_on_is_counted() -> None:
    """Its row among the tries says so too."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.flaky(1.0, seconds=5.0)
        member = world.start("one")
        number = await world.send("sim://ash/a")
        await asyncio.sleep(1)
        assert (await member.road.cancel(to_text(number))).state is CancelState.sending
        world.check(await world.settled(within_s=60))

    simulate(2, story)


def test_a_late_success_counts_the_tries_that_were_made_meanwhile() -> None:
    """Its lane was taken while it went on; the next owner failed twice; it is the third."""

    async def story(world: World) -> None:
        succeeds_late, fails = (5.0, True, DELIVERED), (0.01, False, failed("500"))
        start_ms = world.clock.now_ms()
        world.behaviours["ash"] = lambda now_ms, _draw: (
            succeeds_late if now_ms < start_ms + 1_000 else fails
        )
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(1)
        await world.store.reap(0)
        states = await world.settled(within_s=3600)
        assert [r.handled for r in world.ledger.book] == [False, False, True]
        world.check(states)

    simulate(3, story)


def test_a_try_in_place_that_did_not_start_does_not_forget_the_one_before() -> None:
    """Its start could not be noted, and the store does not know of its first try yet."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = lambda _now_ms, _draw: (
            (0.01, True, DELIVERED) if world.ledger.book else (0.01, False, unreachable("refused"))
        )
        world.start("one")
        await asyncio.sleep(1)
        record_from(world, 6.0)
        marks: list[int] = []
        real = world.store.mark

        async def mark(owner: int, lane: Lane, ids: Sequence[int]) -> bool:
            marks.extend(ids)
            if len(marks) == 2:
                raise StoreUnavailable("simulated: the store was away")
            return await real(owner, lane, ids)

        world.store.mark = mark  # type: ignore[method-assign]
        await world.send("sim://ash/once")
        states = await world.settled(within_s=600)
        assert len(marks) == 3
        world.check(states)

    simulate(4, story)


def test_a_message_that_is_cancelled_before_its_try_begins_is_not_tried() -> None:
    """Its start was being noted. Nothing is sent, and no try is counted."""

    async def story(world: World) -> None:
        member = world.start("one")
        marking = asyncio.Event()
        real = world.store.mark

        async def mark(owner: int, lane: Lane, ids: Sequence[int]) -> bool:
            marking.set()
            await asyncio.sleep(2)
            return await real(owner, lane, ids)

        world.store.mark = mark  # type: ignore[method-assign]
        number = await world.send("sim://ash/once")
        await marking.wait()
        assert (await member.road.cancel(to_text(number))).state is CancelState.sending
        states = await world.settled(within_s=60)
        assert (states[number], world.ledger.book) == (State.cancelled, [])
        told = await world.client.explain(to_text(number))
        assert told.tries == ()
        world.check(states)

    simulate(5, story)
