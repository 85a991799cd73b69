"""Mended: messages that waited, or lanes that woke, for no reason."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

from postroad.engine.engine import Engine
from postroad.engine.lane_worker import LaneWorker
from postroad.model.control import CancelState
from postroad.model.errors import StoreUnavailable
from postroad.model.ids import to_text
from postroad.model.limits import Limits
from postroad.model.outcome import quota, unreachable
from postroad.model.record import Record, Recorded
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.world import Member, World, simulate


def in_s(world: World, seconds: float) -> datetime:
    """A moment from now, in simulated time."""
    now = datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC)
    return now + timedelta(seconds=seconds)


def starts_s(world: World, since_ms: int, *queues: str) -> list[float]:
    """When tries at queues started, in seconds since a time."""
    return sorted((r.started_ms - since_ms) / 1000 for r in world.ledger.book if r.queue in queues)


def engine_of(member: Member) -> Engine:
    """A running one."""
    assert member.road.engine is not None
    return member.road.engine


def test_expired_messages_in_a_row_do_not_hold_up_the_good_one_behind_them() -> None:
    """They lie in the buffer of a slow lane: the first place that is free is for the good one."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(3.0)
        world.start("one")
        await world.send("sim://ash/a")
        for _ in range(2):
            await world.send("sim://ash/a", expires_at=in_s(world, 1))
        good = await world.send("sim://ash/a")
        await asyncio.sleep(10)
        assert (await world.store.states())[good] is State.delivered

    simulate(1, story, Limits(window=1))


def test_fewer_poll_intervals_than_levels_still_serve_all_levels() -> None:
    """The last poller serves all that are higher."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.flaky(1.0)
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(3600)
        assert [r.level for r in world.ledger.book] == [0, 1, 2, 3, 4]

    simulate(2, story, Limits(poll_intervals_s=(5.0, 30.0)))


def test_a_lane_with_much_waiting_does_not_starve_another_of_room() -> None:
    """Whoever waits for a place gets the next one that is free."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = world.behaviours["birch"] = receivers.good(1.0)
        world.start("one")
        for _ in range(400):
            await world.send("sim://ash/a")
        await asyncio.sleep(5)
        sent_ms = world.clock.now_ms()
        for _ in range(3):
            await world.send("sim://birch/a")
        await asyncio.sleep(10)
        starts = starts_s(world, sent_ms, "sim://birch/a")
        assert len(starts) == 3
        assert starts[0] <= 2

    simulate(3, story, Limits(in_flight_max=8))


def test_cancelling_an_ordered_head_that_waits_in_place_frees_its_order_group() -> None:
    """At once, also on a lane that is never without work."""

    async def story(world: World) -> None:
        refused = (0.01, False, unreachable("refused"))
        world.behaviours["sim://ash/a"] = lambda _now_ms, _draw: refused
        member = world.start("one")
        await world.send("sim://ash/busy")
        await asyncio.sleep(1)
        head = await world.send("sim://ash/a", order_key="red")
        after = await world.send("sim://ash/a", order_key="red")
        await asyncio.sleep(0.3)
        world.behaviours["sim://ash/a"] = receivers.good()
        assert (await member.road.cancel(to_text(head))).state is CancelState.cancelled
        for _ in range(30):
            await world.send("sim://ash/busy")
            await asyncio.sleep(0.1)
        states = await world.store.states()
        assert (states[head], states[after]) == (State.cancelled, State.delivered)

    simulate(4, story)


def test_a_message_that_waits_in_place_is_not_sent_past_its_deadline() -> None:
    """It is the sweep's, and what lies behind it in its order group goes on."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.away_until(world.clock.now_ms() + 1500)
        world.start("one")
        await asyncio.sleep(1)
        late = await world.send("sim://ash/a", order_key="red", expires_at=in_s(world, 0.6))
        after = await world.send("sim://ash/a", order_key="red")
        await asyncio.sleep(60)
        states = await world.store.states()
        assert (states[late], states[after]) == (State.dead, State.delivered)
        assert [r.handled for r in world.ledger.book if r.message == late] == [False]

    simulate(5, story)


def count_wakes(member: Member) -> Counter[str]:
    """Counts how often a lane's timer goes off from now on."""
    wakes: Counter[str] = Counter()
    owned = engine_of(member).owned
    real = owned._pump

    def pump(worker: LaneWorker) -> None:
        wakes["timer"] += 1
        real(worker)

    owned._pump = pump
    return wakes


def test_a_paused_lane_with_a_send_in_flight_does_not_spin() -> None:
    """Nothing changes until the send ends or the lane goes on."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(15.0)
        member = world.start("one")
        await world.send("sim://ash/a")
        await world.send("sim://ash/a", delay=3.0)
        await asyncio.sleep(1)
        wakes = count_wakes(member)
        await world.client.lanes.pause(1)
        await asyncio.sleep(10)
        assert wakes["timer"] <= 20

    simulate(6, story)


def test_a_lane_that_marks_does_not_spin_while_it_sends() -> None:
    """After a lost lease one at a time goes: what is due meanwhile waits for its end."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(15.0)
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(1)
        world.crash("one")
        await world.send("sim://ash/b", delay=35.0)
        member = world.start("two")
        await asyncio.sleep(32)
        (worker,) = engine_of(member).lanes.values()
        assert worker.probation.active
        assert worker.in_flight == 1
        wakes = count_wakes(member)
        await asyncio.sleep(10)
        assert wakes["timer"] <= 20

    simulate(7, story)


def test_a_queue_gets_its_larger_share_when_others_fall_idle() -> None:
    """Not only when one of its own sends ends."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/big"] = receivers.good(18.0)
        world.behaviours["ash"] = receivers.good(0.2)
        world.start("one")
        await asyncio.sleep(1)
        sent_ms = world.clock.now_ms()
        for n in range(63):
            await world.send(f"sim://ash/{n}")
        for _ in range(64):
            await world.send("sim://ash/big")
        await asyncio.sleep(60)
        starts = starts_s(world, sent_ms, "sim://ash/big")
        assert len(starts) == 64
        assert starts[32] < 5

    simulate(8, story)


def test_ten_minutes_after_a_resume_a_queue_goes_at_full_speed() -> None:
    """Also when its lane was given back meanwhile, and is learned of anew."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(1.0)
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(5)
        await world.client.pause("sim://ash/a")
        await asyncio.sleep(5)
        await world.client.resume("sim://ash/a")
        await asyncio.sleep(600)
        sent_ms = world.clock.now_ms()
        for _ in range(32):
            await world.send("sim://ash/a")
        await asyncio.sleep(30)
        assert starts_s(world, sent_ms, "sim://ash/a")[-32:][-1] < 0.5

    simulate(9, story)


def test_a_lane_keeps_one_due_time_a_rung() -> None:
    """However many are scheduled, memory does not grow with them."""

    async def story(world: World) -> None:
        member = world.start("one")
        for n in range(300):
            await world.send("sim://ash/a", delay=86_400.0)
            if n % 50 == 0:
                await world.send("sim://ash/a")
        (worker,) = engine_of(member).lanes.values()
        assert len(worker.cache._due) <= len(worker.cache._rungs)

    simulate(10, story)


def test_a_hold_off_that_is_written_after_its_own_end_is_not_forgotten() -> None:
    """The store was away for longer than the quota; then the lane is never without work."""

    async def story(world: World) -> None:
        until_ms = world.clock.now_ms() + 400_000
        full = (0.01, False, quota("429"))
        world.behaviours["sim://ash/a"] = lambda now_ms, _draw: (
            full if now_ms < until_ms else receivers.good()(now_ms, _draw)
        )
        world.start("one")
        await asyncio.sleep(1)
        number = await world.send("sim://ash/a")
        real = world.store.record

        async def patched(record: Record) -> Recorded:
            if world.clock.now_ms() < until_ms:
                raise StoreUnavailable("full")
            return await real(record)

        world.store.record = patched  # type: ignore[method-assign]
        await asyncio.sleep(400)
        for _ in range(600):
            await world.send("sim://ash/b")
            await asyncio.sleep(0.5)
        assert (await world.store.states())[number] is State.delivered

    simulate(11, story)
