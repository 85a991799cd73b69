"""Mended: tries that were held up before their start, cancels that failed, lanes that are paused."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from postroad.model.control import CancelState
from postroad.model.entities import Lane
from postroad.model.errors import StoreUnavailable
from postroad.model.ids import to_text
from postroad.model.limits import Limits
from postroad.model.outcome import DELIVERED, quota
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.world import World, simulate


def mark_slowly(world: World, seconds: float) -> None:
    """Each note of a start takes so long."""
    real = world.store.mark

    async def mark(owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        await asyncio.sleep(seconds)
        return await real(owner, lane, ids)

    world.store.mark = mark  # type: ignore[method-assign]


def fail_first_withdraw(world: World, after_s: float = 0.0) -> None:
    """The first cancel does not get as far as the store."""
    real = world.store.withdraw
    calls: Counter[str] = Counter()

    async def withdraw(owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        calls["withdraw"] += 1
        if calls["withdraw"] == 1:
            await asyncio.sleep(after_s)
            raise StoreUnavailable("simulated: the store was away")
        return await real(owner, lane, ids)

    world.store.withdraw = withdraw  # type: ignore[method-assign]


def test_what_expires_while_its_start_is_noted_is_not_sent() -> None:
    async def story(world: World) -> None:
        mark_slowly(world, 2.0)
        world.start("one")
        now = datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC)
        number = await world.send("sim://ash/once", expires_at=now + timedelta(seconds=1))
        await asyncio.sleep(60)
        assert world.ledger.book == []
        assert (await world.store.states())[number] is State.dead

    simulate(1, story)


def test_a_start_that_is_noted_while_its_queue_is_blocked_waits() -> None:
    """Another one was told meanwhile when to come again."""

    async def story(world: World) -> None:
        full = (0.1, False, quota("429", after_ms=60_000))
        world.behaviours["ash"] = lambda _now_ms, _draw: (
            DELIVERED_SOON if world.ledger.book else full
        )
        mark_slowly(world, 1.0)
        world.start("one")
        await world.send("sim://ash/once")
        await asyncio.sleep(0.95)
        await world.send("sim://ash/once")
        world.check(await world.settled(within_s=3600))
        assert [r.kind for r in world.ledger.book] == ["quota", "delivered", "delivered"]

    simulate(2, story)


DELIVERED_SOON = (0.1, True, DELIVERED)


def test_a_cancel_that_fails_leaves_its_message_in_the_line() -> None:
    """Although others keep the lane busy, and it lies before what was read."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(0.5)
        world.start("one")
        numbers = [await world.send("sim://ash/a") for _ in range(100)]
        await asyncio.sleep(0.2)
        fail_first_withdraw(world)
        answer = await world.client.cancel(to_text(numbers[-1]), wait=0)
        assert answer.state is CancelState.pending
        for _ in range(120):
            await world.send("sim://ash/a")
            await asyncio.sleep(0.5)
        assert (await world.store.states())[numbers[-1]] is State.delivered

    simulate(3, story)


def test_nobody_overtakes_a_message_whose_cancel_fails() -> None:
    """Its order group waits until it is known whether it got out of the store."""

    async def story(world: World) -> None:
        numbers = [await world.send("sim://ash/a", order_key="red") for _ in range(3)]
        await world.client.limit("sim://ash/a", "1/min")
        world.start("one")
        await asyncio.sleep(5)
        fail_first_withdraw(world, after_s=90)
        await world.client.cancel(to_text(numbers[1]), wait=0)
        world.check(await world.settled(within_s=600))
        assert [r.message for r in world.ledger.book] == numbers

    simulate(4, story)


def test_a_cancel_reaches_the_owner_of_today() -> None:
    """One that the lane's former worker was asked for still waits when the lane is claimed anew."""

    async def story(world: World) -> None:
        for queue in ("sim://ash/a", "sim://birch/a"):
            await world.send(queue)
            await world.client.limit(queue, "1/min")
        ash, birch = [await world.send(f"sim://{server}/a") for server in ("ash", "birch")]
        world.start("one")
        await asyncio.sleep(1)
        real = world.store.withdraw
        stalled = asyncio.Event()

        async def withdraw(owner: int, lane: Lane, ids: Sequence[int]) -> bool:
            if not stalled.is_set():
                stalled.set()
                await asyncio.sleep(5)
            return await real(owner, lane, ids)

        world.store.withdraw = withdraw  # type: ignore[method-assign]
        other = asyncio.ensure_future(world.client.cancel(to_text(birch)))
        await stalled.wait()
        asked = asyncio.ensure_future(world.client.cancel(to_text(ash)))
        await asyncio.sleep(0.5)
        await world.store.reap(-1_000)  # every lease is lost, and claimed again at once
        assert (await asked).state is CancelState.cancelled
        assert (await other).state is CancelState.cancelled

    simulate(5, story)


def test_a_paused_lane_has_nothing_to_do() -> None:
    """Also when something of it was in flight: it is given back, and a run ends that waits for
    idleness."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(5.0)
        member = world.start("one")
        for _ in range(5):
            await world.send("sim://ash/a", order_key="red")
        await asyncio.sleep(1)
        await world.client.lanes.pause(1)
        await asyncio.sleep(60)
        assert len(world.ledger.book) == 1
        assert member.road.engine is not None
        assert not member.road.engine.lanes
        await world.client.lanes.resume(1)
        world.check(await world.settled(within_s=60))

    simulate(6, story)


def test_claims_go_on_after_all_lanes_were_lost() -> None:
    """They waited for the end of busy lanes, and those were taken away."""

    async def story(world: World) -> None:
        for n in range(20):
            world.behaviours[f"s{n}"] = receivers.good(seconds=15.0)
            await world.send(f"sim://s{n}/a")
        world.start("one")
        await asyncio.sleep(1)
        await world.store.reap(0)  # too early: it hears of it when it beats, in nine seconds
        await asyncio.sleep(120)
        assert len(world.ledger.book) > 4

    simulate(7, story, Limits(in_flight_max=1, claim_batch=16))
