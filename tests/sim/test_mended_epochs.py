"""Mended: an owner whose lane was taken and came back while an old try was under way."""

import asyncio
from collections import Counter

from postroad.model.errors import StoreUnavailable
from postroad.model.outcome import DELIVERED, Outcome, failed
from postroad.model.record import Record, Recorded
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.receivers import Behaviour
from tests.rig.world import World, simulate

FAILS_LATE = (5.0, False, failed("500"))


def first_then(first: tuple[float, bool, Outcome], rest: tuple[float, bool, Outcome]) -> Behaviour:
    """One answer to the first try, another to all that follow."""
    tries: Counter[str] = Counter()

    def answer() -> tuple[float, bool, Outcome]:
        tries["all"] += 1
        return first if tries["all"] == 1 else rest

    return lambda _now_ms, _draw: answer()


async def take_and_give_back(world: World) -> None:
    """A peer declares everybody dead, too early: whoever lives claims again at once, and is told
    at its next beat, ten seconds after its first claim."""
    await asyncio.sleep(1)
    await world.store.reap(0)
    await asyncio.sleep(1)


def test_a_late_result_of_an_old_epoch_does_not_drop_the_new_worker() -> None:
    """The lane goes on with what comes after it."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/a"] = first_then(FAILS_LATE, (6.0, True, DELIVERED))
        world.start("one")
        await world.send("sim://ash/a")
        await take_and_give_back(world)
        await asyncio.sleep(3.5)
        after = await world.send("sim://ash/b")
        await asyncio.sleep(3)
        assert (await world.store.states())[after] is State.delivered

    simulate(1, story)


def write_together(world: World, from_s: float, to_s: float) -> None:
    """The store is away for a while: what ends meanwhile is written in one batch."""
    real = world.store.record

    async def patched(record: Record) -> Recorded:
        if from_s < world.loop.time() < to_s:
            raise StoreUnavailable("simulated: the store was away")
        return await real(record)

    world.store.record = patched  # type: ignore[method-assign]


def test_old_and_new_worker_of_a_lane_in_one_batch_are_both_told() -> None:
    """The order group's next message goes although an old result came with that of its head."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/a"] = first_then(FAILS_LATE, (3.0, True, DELIVERED))
        world.start("one")
        await world.send("sim://ash/a", order_key="red")
        after = await world.send("sim://ash/a", order_key="red")
        await take_and_give_back(world)
        # Another lane's result holds up the store, so that the new worker's success (at 4 s) and
        # the old one's failure (at 5 s) wait for the same batch.
        write_together(world, from_s=2.0, to_s=5.5)
        await world.send("sim://birch/a")
        await asyncio.sleep(7.5)
        assert len([r for r in world.ledger.book if r.message == after]) == 1

    simulate(2, story)


def test_an_owner_told_that_it_was_dead_goes_on_with_what_it_claimed_since() -> None:
    """What it gives up then it must claim again, not leave in its own name until the lease is
    over."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/a"] = receivers.good(15.0)
        world.start("one")
        await world.send("sim://ash/a")
        await take_and_give_back(world)
        await asyncio.sleep(11)
        after = await world.send("sim://ash/b")
        await asyncio.sleep(10)
        assert (await world.store.states())[after] is State.delivered

    simulate(3, story)
