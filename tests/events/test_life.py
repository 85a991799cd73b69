"""The life of an endpoint in simulated time: it fails, is told of, disabled, held, and recovers."""

import asyncio
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from postroad.model.endpoint import OPERATOR
from postroad.model.ladder import Steps
from postroad.model.outcome import failed, rejected, unreachable
from tests.events.lives import DAY_MS, DAY_S, HOUR_S, Lives
from tests.rig.receivers import Behaviour, good
from tests.rig.world import World, simulate

SHORT = Steps(retries=3, delays_ms=(60_000, 600_000, 3_600_000))
FAILING = ["endpoint.failing", "endpoint.disabled"]


def away() -> Behaviour:
    return lambda _now_ms, _draw: (0.01, False, unreachable("refused"))


def broken(seconds: float = 0.02) -> Behaviour:
    return lambda _now_ms, _draw: (seconds, False, failed("500 from the customer"))


def gone() -> Behaviour:
    return lambda _now_ms, _draw: (0.01, False, rejected("410 Gone", status=410, disables=True))


async def check_disabled(lives: Lives, name: str) -> None:
    """It was told of after a day, and disabled after five."""
    assert lives.events(name) == FAILING
    facts = await lives.road.endpoints.get(lives.made[name].id)
    assert (facts.state, facts.disabled_by, facts.health) == (
        "disabled",
        "itself",
        "failing",
    )
    told = [one for one in lives.told if one["type"] != "message.dead"]
    noticed, disabled = [one for one in told if one["endpoint"] == facts.id]
    assert 1 <= (noticed["at_ms"] - facts.failing_since_ms) / DAY_MS < 1.5
    assert 5 <= (disabled["at_ms"] - facts.failing_since_ms) / DAY_MS < 5.5
    assert disabled["failing_since_ms"] == facts.failing_since_ms


@pytest.mark.wide  # 11 s of CPU; `test_turns` has the same turns without the days
def test_an_endpoint_that_is_down_for_ten_days_is_told_of_disabled_held_and_recovers() -> None:
    async def story(world: World) -> None:
        lives = Lives(world)
        road, clock = lives.road, world.clock
        await lives.make("ops", tenant=OPERATOR)
        await lives.make("away", away(), ordered=True)
        await lives.make("broken", broken(), ladder=SHORT)
        await lives.make("fine")
        await road.endpoints.set_rules(tenant="*", drain="1/s")
        world.start("one"), world.start("two")
        start_ms, sent = clock.now_ms(), 0
        while clock.now_ms() - start_ms < 10 * DAY_MS:
            await road.publish("order.paid", {"n": (sent := sent + 1)})
            await asyncio.sleep(8 * HOUR_S)
            if sent == 10:
                world.crash("one")
                world.start("three")
        for name in ("away", "broken"):
            await check_disabled(lives, name)
        assert lives.events("fine") == []
        assert len(set(lives.taken("ops"))) == len(lives.taken("ops")) == len(lives.told)
        began = datetime.fromtimestamp(start_ms / 1000, UTC)
        stats = await road.endpoints.stats(lives.made["broken"].id, by="day", since=began)
        held, died = stats.waiting, stats.died
        assert held + died == sent
        assert 14 <= died <= 17, died
        assert 5 <= len(stats.points) <= 7
        assert stats.total.tries == {"failed": sum(p.tries["failed"] for p in stats.points)}
        assert (stats.total.dead, stats.total.took_p99_ms) == (died, 32)

        for name in ("away", "broken"):
            lives.answers(name, good())
            await road.endpoints.enable(lives.made[name].id)
        await asyncio.sleep(HOUR_S)
        in_order = lives.taken("away")
        assert in_order == sorted(in_order)
        again = await road.endpoints.recover(lives.made["away"].id)
        assert again.messages == sent - len(in_order)
        recovery = await road.endpoints.recover(lives.made["broken"].id)
        assert recovery.messages == died
        await asyncio.sleep(HOUR_S)
        for name in ("away", "broken"):
            assert lives.events(name) == [*FAILING, "endpoint.recovered"]
            taken = lives.taken(name)
            assert len(taken) == len(set(taken)) == sent
            facts = await road.endpoints.get(lives.made[name].id)
            assert (facts.state, facts.health, facts.draining_since_ms) == ("enabled", "healthy", 0)
        replayed = lives.taken("away")[len(in_order) :]
        assert (replayed, len(replayed) > 5) == (sorted(replayed), True)
        for name in ("away", "broken"):
            queue = lives.made[name].queue
            own = sorted(o.started_ms for o in lives.book if o.queue == queue and o.handled)
            assert all(later - one >= 999 for one, later in pairwise(own))

    simulate(11, story)


def test_a_receiver_that_is_gone_is_disabled_at_once_and_told_of_once() -> None:
    async def story(world: World) -> None:
        lives = Lives(world)
        await lives.make("gone", gone())
        world.start("one"), world.start("two")
        await lives.road.publish("order.paid", 1)
        await asyncio.sleep(60)
        facts = await lives.road.endpoints.get(lives.made["gone"].id)
        assert (facts.state, facts.disabled_by, facts.reason) == ("disabled", "itself", "410 Gone")
        await lives.road.publish("order.paid", 2)
        await asyncio.sleep(DAY_S)
        assert lives.events("gone") == ["endpoint.disabled"]
        lives.answers("gone", good())
        await lives.road.endpoints.enable(facts.id)
        await asyncio.sleep(60)
        assert len(lives.taken("gone")) == 1
        assert (await lives.road.endpoints.recover(facts.id)).messages == 1
        await asyncio.sleep(60)
        assert len(lives.taken("gone")) == 2
        assert lives.events("gone") == ["endpoint.disabled", "endpoint.recovered"]

    simulate(12, story)


def test_what_is_held_is_bounded_by_number_and_age_and_the_rest_is_dead_with_its_reason() -> None:
    async def story(world: World) -> None:
        lives = Lives(world)
        road = lives.road
        await lives.make("off")
        await road.endpoints.disable(lives.made["off"].id)
        await road.endpoints.set_rules(tenant="default", hold_max=5, hold_for_s=DAY_S)
        first = [(await road.publish("order.paid", n)).messages[0] for n in range(8)]
        world.start("one")
        await asyncio.sleep(HOUR_S)
        dead = await road.dead.list(reason="excess_held")
        assert sorted(one.id for one in dead.messages) == first[:3]
        await asyncio.sleep(DAY_S)
        dead = await road.dead.list(reason="expired_held")
        assert sorted(one.id for one in dead.messages) == first[3:]
        assert (await road.endpoints.stats(lives.made["off"].id)).waiting == 0
        await road.endpoints.enable(lives.made["off"].id)
        assert (await road.endpoints.recover(lives.made["off"].id)).messages == 8
        await asyncio.sleep(HOUR_S)
        assert sorted(lives.taken("off")) == first

    simulate(13, story)


def refused() -> Behaviour:
    return lambda _now_ms, _draw: (0.01, False, rejected("400 from the customer", status=400))


@pytest.mark.wide
def test_a_storm_of_dead_messages_is_told_in_a_few_events_and_makes_no_circle() -> None:
    async def story(world: World) -> None:
        lives = Lives(world)
        await lives.make("ops", refused(), tenant=OPERATOR)
        await lives.make("bad", refused())
        await lives.make("quiet", refused(), tenant="quiet")
        await lives.road.endpoints.set_rules(tenant="quiet", dead_every_s=0)
        world.start("one")
        for n in range(600):
            await lives.road.publish("order.paid", {"n": n})
            await lives.road.publish("order.paid", {"n": n}, tenant="quiet")
            await asyncio.sleep(1)
        await asyncio.sleep(HOUR_S)
        dead = [one for one in lives.told if one["type"] == "message.dead"]
        assert sum(one["count"] for one in dead) == 600
        assert {one["endpoint"] for one in dead} == {lives.made["bad"].id}
        assert {one["queue"] for one in dead} == {lives.made["bad"].queue}
        assert 2 <= len(dead) <= 4  # at once, and every five minutes
        times = [one["at_ms"] for one in dead]
        assert all(later - first >= 300_000 for first, later in pairwise(times))
        # The operator's own endpoint refused them all, and nobody was told of that.
        assert (await lives.road.endpoints.stats(lives.made["ops"].id, tenant=OPERATOR)).total.dead

    simulate(17, story)


def test_the_operator_is_told_once_that_a_rotated_secret_ends() -> None:
    async def story(world: World) -> None:
        lives = Lives(world)
        await lives.make("shop")
        await lives.make("brief")
        world.start("one")
        await lives.road.endpoints.rotate(lives.made["shop"].id, overlap=3 * DAY_S)
        await lives.road.endpoints.rotate(lives.made["brief"].id, overlap=0)
        await asyncio.sleep(1.5 * DAY_S)
        assert lives.events() == []
        await asyncio.sleep(3 * DAY_S)
        assert lives.events("shop") == ["endpoint.secret_expiring"]
        assert lives.events("brief") == []
        (said,) = lives.told
        assert said["at_ms"] < lives.made["shop"].made_at_ms + 3 * DAY_MS

    simulate(18, story)


def test_an_endpoint_that_is_held_back_by_what_a_killed_process_had_tried_is_failing() -> None:
    """Its process had not written yet that it fails, and no try follows that could tell."""

    async def story(world: World) -> None:
        lives = Lives(world)
        road, clock = lives.road, world.clock
        quick = Steps(retries=2, delays_ms=(200, 200))
        await lives.make("shut", broken(), ordered=True, ladder=quick)
        await lives.make("fine", ordered=True)
        await road.endpoints.set_rules(tenant="*", disable_after_s=2 * DAY_S)
        world.start("one")
        start_ms, made = clock.now_ms(), lives.made["shut"].id
        sent = [(await road.publish("order.paid", n)).messages for n in range(3)]
        await asyncio.sleep(3)
        world.crash("one")
        assert (await road.endpoints.get(made)).health == "healthy"
        world.start("two")
        await asyncio.sleep(600)
        facts = await road.endpoints.get(made)
        assert (facts.health, facts.last_error) == ("failing", "500 from the customer")
        assert 0 <= facts.failing_since_ms - start_ms < 3_000
        assert (await road.endpoints.get(lives.made["fine"].id)).health == "healthy"
        lives.answers("shut", good())
        await road.endpoints.recover(made)  # without a time
        await asyncio.sleep(600)
        assert len(lives.taken("shut")) == len(sent)
        assert (await road.endpoints.get(made)).health == "healthy"
        # Nobody recovers it this time: its operator is told, and it is disabled.
        lives.answers("shut", broken())
        await road.publish("order.paid", 4)
        await asyncio.sleep(3)
        world.crash("two")
        world.start("three")
        await asyncio.sleep(2.1 * DAY_S)
        assert lives.events("shut") == FAILING
        reason = (await road.endpoints.get(made)).reason
        assert reason.startswith("nothing but failures for 2 d")

    simulate(19, story)
