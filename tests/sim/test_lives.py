"""The lives of messages in simulated time: ladders, deadlines, spells, order, doubt."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from postroad.model.limits import Limits
from postroad.model.outcome import DELIVERED, Outcome, failed
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.world import World, simulate


def now_of(world: World) -> datetime:
    """The simulated time."""
    return datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC)


async def dead_reasons(world: World) -> Counter[object]:
    """Dead messages by reason."""
    rows = await world.store.read(
        "insight", lambda db: db.connection.execute("select reason from dead").fetchall()
    )
    return Counter(reason for (reason,) in rows)


def test_a_failing_message_climbs_the_ladder_and_dies_exhausted() -> None:
    """One try a level, each after its delay ± 25 %."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.flaky(1.0)
        world.start("one")
        await world.send("sim://ash/a")
        states = await world.settled(within_s=3600)
        assert [r.level for r in world.ledger.book] == [0, 1, 2, 3, 4]
        assert await dead_reasons(world) == {"exhausted": 1}
        world.check(states)

    simulate(1, story)


@pytest.mark.parametrize("hours", [8, pytest.param(24, marks=pytest.mark.wide)])
def test_quota_and_unreachable_spend_no_level(hours: int) -> None:
    """After hours of 429 and as many of refusals, a day each in `make wide`, it is still at level 0."""

    async def story(world: World) -> None:
        start_ms = world.clock.now_ms()
        spell_ms = hours * 3_600_000
        quota = receivers.quota_until(start_ms + spell_ms)
        away = receivers.away_until(start_ms + 2 * spell_ms)
        world.behaviours["ash"] = lambda now_ms, draw: (
            quota(now_ms, draw) if now_ms < start_ms + spell_ms else away(now_ms, draw)
        )
        world.start("one")
        await world.send("sim://ash/a")
        states = await world.settled(within_s=3 * 86_400)
        assert {r.level for r in world.ledger.book} == {0}
        assert set(states.values()) == {State.delivered}
        world.check(states)

    simulate(2, story)


def test_a_message_past_its_deadline_dies_although_its_queue_is_blocked() -> None:
    """Expiry is a sweep, not something a failing try notices."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.quota_until(world.clock.now_ms() + 86_400_000)
        world.start("one")
        await world.send("sim://ash/a", expires_at=now_of(world) + timedelta(minutes=90))
        await asyncio.sleep(60)
        tries = len(world.ledger.book)
        await asyncio.sleep(89 * 60 + 5)
        assert await dead_reasons(world) == {"expired": 1}
        assert tries >= 1

    simulate(3, story)


@pytest.mark.wide
def test_a_spell_of_quota_kills_after_seven_days_and_of_silence_after_two() -> None:
    """Counted from the later of acceptance and the start of the spell."""

    async def story(world: World) -> None:
        never_ms = world.clock.now_ms() + 100 * 86_400_000
        world.behaviours["full"] = receivers.quota_until(never_ms)
        world.behaviours["gone"] = receivers.away_until(never_ms)
        world.start("one")
        await world.send("sim://full/a")
        await world.send("sim://gone/a")
        await asyncio.sleep(86_400)
        await world.send("sim://gone/late")
        await asyncio.sleep(86_400 + 1200)
        assert await dead_reasons(world) == {"expired_unreachable": 1}
        await asyncio.sleep(86_400)
        assert await dead_reasons(world) == {"expired_unreachable": 2}
        await asyncio.sleep(4 * 86_400 + 1200)
        assert await dead_reasons(world) == {"expired_unreachable": 2, "expired_quota": 1}

    simulate(4, story)


def test_a_failed_head_delays_only_its_own_order_group() -> None:
    """Order by key: red waits behind its failing head, blue goes on."""

    async def story(world: World) -> None:
        tries = Counter[str]()

        def first_fails(now_ms: int, draw: float) -> tuple[float, bool, Outcome]:  # noqa: ARG001
            tries["all"] += 1
            if tries["all"] == 1:
                return (0.01, False, failed("500"))
            return (0.01, True, DELIVERED)

        world.behaviours["ash"] = first_fails
        world.start("one")
        red = [await world.send("sim://ash/a", order_key="red") for _ in range(3)]
        await asyncio.sleep(0.2)
        blue = [await world.send("sim://ash/a", order_key="blue") for _ in range(3)]
        await asyncio.sleep(0.3)
        done = {r.message for r in world.ledger.book if r.handled}
        assert done == set(blue)
        states = await world.settled(within_s=60)
        handled = [r.message for r in world.ledger.book if r.handled]
        assert [n for n in handled if n in red] == red
        world.check(states)

    simulate(5, story)


def test_doubt_on_a_queue_that_wants_no_second_try_is_left_to_people() -> None:
    """`uncertain`, and never sent again by itself; also when its process died."""

    async def story(world: World) -> None:
        world.behaviours["sim://ash/once"] = receivers.doubtful(1.0)
        world.behaviours["sim://birch/once"] = receivers.good(seconds=10.0)
        world.start("one")
        await world.send("sim://ash/once")
        await world.send("sim://birch/once")
        await asyncio.sleep(5)
        world.crash("one")
        world.start("two")
        await asyncio.sleep(86_400)
        assert (await world.store.counts())["uncertain"] == 2
        assert len(world.ledger.book) == 1

    simulate(6, story)


def test_a_lost_lease_is_taken_over_within_its_time() -> None:
    """Thirty seconds without a sign of life, then another engine goes on."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(seconds=5.0)
        world.start("one")
        world.start("two")
        await world.send("sim://ash/a")
        await asyncio.sleep(1)
        world.crash(world.holder("ash"))
        await asyncio.sleep(60)
        assert set((await world.store.states()).values()) == {State.delivered}

    simulate(7, story)


def test_a_message_that_kills_its_process_dies_and_its_neighbours_are_delivered() -> None:
    """Started in three lost leases: `crash_loop`."""

    async def story(world: World) -> None:
        numbers = [await world.send("sim://ash/a") for _ in range(20)]
        poison = numbers[7]
        for n in range(30):
            member = world.start(f"engine-{n}")
            world.poison(member, poison)
            await asyncio.sleep(120)
            if member.node.alive:
                break
        states = await world.settled(within_s=600)
        assert states[poison] is State.dead
        assert await dead_reasons(world) == {"crash_loop": 1}
        assert Counter(states.values()) == {State.delivered: 19, State.dead: 1}
        assert n <= 12

    simulate(8, story)


def test_a_higher_priority_goes_first_within_its_queue() -> None:
    """Among messages that wait together; equal ones by age."""

    async def story(world: World) -> None:
        low = [await world.send("sim://ash/a", priority=-5) for _ in range(5)]
        plain = [await world.send("sim://ash/a") for _ in range(5)]
        high = [await world.send("sim://ash/a", priority=9) for _ in range(5)]
        world.start("one")
        await world.settled(within_s=60)
        assert [r.message for r in world.ledger.book] == high + plain + low

    simulate(9, story, Limits(window=1))
