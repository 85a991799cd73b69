"""Rules in the running engine, in simulated time: what they hold, limit, retry and reject, and that
all of it is seen and ends by itself."""

import asyncio
from collections.abc import Callable

from postroad.model.errors import StoreUnavailable
from postroad.model.ids import to_text
from postroad.model.outcome import DELIVERED, Outcome, failed, rejected
from postroad.model.pace import read_limit
from postroad.model.states import State
from tests.pacing.test_lanes import fill, lane_of, starts
from tests.pacing.windows import breaches
from tests.rig.receivers import Behaviour
from tests.rig.world import World, simulate

HELD, OTHER = "sim://ash/a", "sim://oak/a"


def busy_until(busy_ms: int, outcome: Outcome, seconds: float = 0.01) -> Behaviour:
    """Answers so until then, and takes everything afterwards."""
    return lambda now_ms, _draw: (
        (seconds, False, outcome) if now_ms < busy_ms else (seconds, True, DELIVERED)
    )


BUSY = failed("451 4.7.1 slow down", status=451)


async def put(world: World, do: str, **more: object) -> None:
    given = {"lanes": "sim:ash", "status": "451", "do": do} | more
    await world.client.rules.put("busy", **given)  # type: ignore[arg-type]


def answering(world: World, outcome: Outcome, seconds: float) -> Callable[[], int]:
    """The held server answers so for that long; returns a clock that counts from now, in ms."""
    start_ms = world.clock.now_ms()
    world.behaviours[HELD] = busy_until(start_ms + round(seconds * 1000), outcome)
    return lambda: world.clock.now_ms() - start_ms


def test_a_lane_that_a_rule_holds_waits_says_so_and_goes_on_by_itself() -> None:
    async def story(world: World) -> None:
        past_ms = answering(world, BUSY, 30)
        await put(world, "hold_lane", lasts=60)
        numbers = await fill(world, HELD, 20)
        world.start("one")
        await asyncio.sleep(20)
        before = len(starts(world, HELD))
        await fill(world, HELD, 5)  # new traffic brings no probe forward
        await fill(world, OTHER, 5)
        await asyncio.sleep(20)
        assert (len(starts(world, HELD)), len(starts(world, OTHER))) == (before, 5)
        told = await world.client.explain(to_text(numbers[0]))
        assert told.state is State.held
        assert told.because == "lane held: 451 4.7.1 slow down [rule busy]"
        assert [(block.scope, block.kind) for block in told.blocks] == [("lane", "held")]
        assert "an answer rule holds its lane" in told.sentence
        shown = (await world.client.inspect.lanes()).lanes
        assert [row.because for row in shown if row.server == "ash"] == [told.because]
        lane = await world.client.explain_lane(await lane_of(world, HELD))
        assert "Held: lane held until" in lane.sentence
        assert "an answer rule holds its lane" in lane.next.why
        assert past_ms() < 60_000
        world.check(await world.settled(within_s=60))
        assert past_ms() < 70_000
        later_s = starts(world, HELD)[before:]
        assert len(later_s) == 25

    simulate(1, story)


def test_a_success_that_was_in_flight_does_not_end_the_hold() -> None:
    async def story(world: World) -> None:
        await put(world, "hold_lane", lasts=60)
        world.behaviours["sim://ash/slow"] = lambda _now, _draw: (5.0, True, DELIVERED)
        past_ms = answering(world, BUSY, 3)
        await fill(world, "sim://ash/slow", 3)
        await fill(world, HELD, 1)
        world.start("one")
        await asyncio.sleep(10)
        held = len(starts(world, HELD))
        await fill(world, HELD, 5)
        await asyncio.sleep(20)
        assert len(starts(world, HELD)) == held
        world.check(await world.settled(within_s=60))
        assert 60_000 < past_ms() < 70_000

    simulate(2, story)


def test_a_queue_that_a_rule_holds_waits_as_long_as_it_says_and_its_lane_goes_on() -> None:
    async def story(world: World) -> None:
        past_ms = answering(world, BUSY, 5)
        await put(world, "hold_queue", lasts=20)
        await fill(world, HELD, 3)
        world.start("one")
        await asyncio.sleep(1)
        await fill(world, "sim://ash/free", 10)
        await asyncio.sleep(1)
        assert len(starts(world, "sim://ash/free")) == 10
        told = await world.client.explain_queue(HELD)
        assert told.because == "rule: 451 4.7.1 slow down [rule busy]"
        assert told.next.why == "an answer rule holds it: then one try goes first and decides"
        (row,) = [one for one in (await world.client.inspect.queues()).queues if one.queue == HELD]
        assert (row.block, row.because) == ("rule", told.because)
        world.check(await world.settled(within_s=60))
        assert 20_000 <= past_ms() < 25_000  # and not the three minutes of a plain quota

    simulate(3, story)


def test_a_message_is_tried_again_when_the_rule_says_and_spends_a_level() -> None:
    async def story(world: World) -> None:
        past_ms = answering(world, BUSY, 1)
        await put(world, "retry", lasts=300)
        (number,) = await fill(world, HELD, 1)
        world.start("one")
        await asyncio.sleep(10)
        told = await world.client.explain(to_text(number))
        assert (told.level, [one.outcome for one in told.tries]) == (1, ["failed"])
        assert told.next.not_before_ms is not None
        assert 290_000 < told.next.not_before_ms - world.clock.now_ms() <= 300_000
        world.check(await world.settled(within_s=600))
        assert 300_000 <= past_ms() < 310_000

    simulate(4, story)


def test_a_limit_is_lowered_for_a_while_and_shown() -> None:
    async def story(world: World) -> None:
        past_ms = answering(world, BUSY, 0.05)
        await put(world, "limit", rate="30/min", lasts=60)
        await fill(world, HELD, 1)
        world.start("one")
        await asyncio.sleep(1)
        await fill(world, HELD, 200)
        await asyncio.sleep(50)
        seen = [at_s for at_s in starts(world, HELD)[1:] if at_s * 1000 < world.clock.now_ms()]
        assert breaches(read_limit("30/min"), [(at_s * 1e6, 1) for at_s in seen]) == []
        assert 20 < len(seen) < 30
        (limit,) = await world.client.limits.list()
        assert (limit.name, limit.rate) == ("rule busy: ash", "30/min")
        assert limit.until_ms > world.clock.now_ms()
        shown = await world.client.explain_queue(HELD)
        assert [(one.name, one.limit) for one in shown.limits] == [("rule busy: ash", "30/min")]
        world.check(await world.settled(within_s=30))
        assert 60_000 < past_ms() < 75_000
        assert await world.client.limits.list() == []

    simulate(5, story)


def test_several_answers_within_a_time_are_needed_also_over_a_restart() -> None:
    async def story(world: World) -> None:
        _ = answering(world, BUSY, 3_600)
        await put(world, "reject", count=3, within=3_600)
        numbers = await fill(world, HELD, 1)
        world.start("one")
        await asyncio.sleep(0.2)
        await world.stop("one")
        numbers += await fill(world, HELD, 1)
        world.start("two")
        await asyncio.sleep(0.2)
        told = [await world.client.explain(to_text(number)) for number in numbers]
        assert {one.state for one in told} == {State.waiting}
        numbers += await fill(world, HELD, 1)
        await asyncio.sleep(0.2)
        last = await world.client.explain(to_text(numbers[-1]))
        assert (last.state, last.reason) == (State.dead, "rejected")
        assert last.tries[-1].error == "451 4.7.1 slow down [rule busy]"

    simulate(6, story)


def test_rules_are_changed_while_it_runs_and_the_first_that_applies_counts() -> None:
    async def story(world: World) -> None:
        _ = answering(world, BUSY, 3_600)
        world.start("one")
        (plain,) = await fill(world, HELD, 1)
        await asyncio.sleep(6)
        assert (await world.client.explain(to_text(plain))).state is State.waiting
        await world.client.rules.put("z", lanes="sim:*", code="*", status="451", do="reject")
        await asyncio.sleep(60)  # its next try is at level 2
        assert (await world.client.explain(to_text(plain))).state is State.dead
        await world.client.rules.put("a", lanes="sim:*", status="4??", do="keep")
        await asyncio.sleep(6)
        (kept,) = await fill(world, HELD, 1)
        await asyncio.sleep(3)
        assert (await world.client.explain(to_text(kept))).state is State.waiting
        await world.client.rules.delete("a")
        await asyncio.sleep(60)
        assert (await world.client.explain(to_text(kept))).state is State.dead

    simulate(7, story)


def test_a_rule_of_another_tenant_or_lane_changes_nothing() -> None:
    async def story(world: World) -> None:
        _ = answering(world, BUSY, 1)
        for tenant, lanes in (("other", "sim:*"), ("default", "sim:elm")):
            await world.client.rules.put(
                "no", lanes=lanes, status="451", do="reject", tenant=tenant
            )
        await fill(world, HELD, 3)
        world.start("one")
        world.check(await world.settled(within_s=120))
        assert set((await world.settled(within_s=1)).values()) == {State.delivered}

    simulate(8, story)


def test_a_store_that_is_away_leaves_the_answer_as_it_is() -> None:
    async def story(world: World) -> None:
        past_ms = answering(world, rejected("451", status=451), 0.5)
        await put(world, "hold_lane", lasts=60)

        async def away() -> tuple[int, int]:
            raise StoreUnavailable("simulated: the store was away")

        world.store.rules_version = away  # type: ignore[method-assign]
        (number,) = await fill(world, HELD, 1)
        world.start("one")
        await asyncio.sleep(5)
        assert (await world.client.explain(to_text(number))).state is State.dead
        assert past_ms() < 10_000

    simulate(9, story)


def test_who_succeeds_asks_the_store_for_no_rules() -> None:
    async def story(world: World) -> None:
        asked = []
        version = world.store.rules_version

        async def counting() -> tuple[int, int]:
            asked.append(world.clock.now_ms())
            return await version()

        world.store.rules_version = counting  # type: ignore[method-assign]
        await fill(world, OTHER, 200)
        world.start("one")
        world.check(await world.settled(within_s=10))
        assert asked == []
        world.behaviours[HELD] = busy_until(world.clock.now_ms() + 20_000, BUSY)
        await fill(world, HELD, 50)
        await asyncio.sleep(20)
        assert 1 <= len(asked) <= 5  # at most one every five seconds, however many fail

    simulate(10, story)
