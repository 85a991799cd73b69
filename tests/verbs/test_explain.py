"""Explain: what happened, what holds it back, what comes next."""

import asyncio
import re
from collections import defaultdict
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from postroad.model.errors import UnknownLane, UnknownMessage, UnknownQueue
from postroad.model.explain import Explanation, LaneExplanation, QueueExplanation
from postroad.model.facts import Owner
from postroad.model.ids import to_number, to_text
from postroad.model.next_step import ActiveBlock, BlockScope, NextKind, NextStep
from postroad.model.states import State
from postroad.model.tries import Try
from tests.rig import receivers
from tests.rig.world import World, simulate
from tests.verbs.foretelling import foretell
from tests.verbs.states import (
    HOUR_S,
    IDS,
    QUEUE,
    STATES,
    Way,
    away,
    delivered,
    holding,
    lived,
    now_of,
    over_quota,
    retrying,
)


async def told(world: World, number: int) -> Explanation:
    return await world.client.explain(to_text(number))


def in_s(world: World, said: Explanation) -> float:
    """When it may be tried, from now."""
    assert said.next.not_before_ms is not None
    return (said.next.not_before_ms - world.clock.now_ms()) / 1000


def holds(said: Explanation) -> list[tuple[str, str]]:
    return [(block.scope, block.kind) for block in said.blocks]


@pytest.mark.parametrize(("way", "state", "blocks", "what", "why"), STATES, ids=IDS)
def test_every_state_has_its_blocks_and_what_comes_next(
    way: Way, state: State, blocks: list[tuple[str, str]], what: NextKind, why: str
) -> None:
    """One row a state."""

    def look(_world: World, said: Explanation) -> None:
        assert (said.state, holds(said), said.next.what) == (state, blocks, what)
        assert why in said.next.why
        assert bool(said.because) == (state is State.held)

    lived(way, look)


@pytest.mark.parametrize("way", [way for way, *_ in STATES], ids=IDS)
def test_a_sentence_tells_no_secret_and_says_the_state(way: Way) -> None:
    """Not the body, the headers, an error text, nor the path of an address: people paste it."""

    def look(world: World, said: Explanation) -> None:
        assert str(said.state) in said.sentence
        assert said.id in said.sentence
        body = world.ledger.sent[to_number(said.id)].body.decode()
        for secret in ("hush", "token", "refused", body):
            assert secret not in said.sentence
        assert re.fullmatch(r"[^\n{}\[\]]+\.", said.sentence)

    lived(way, look)


def test_every_field_is_filled_in_some_state() -> None:
    """A field that no state fills would be a promise nobody keeps."""
    filled: dict[str, set[str]] = defaultdict(set)

    def fill(said: msgspec.Struct) -> None:
        name = type(said).__name__
        for field in msgspec.structs.fields(said):
            value = getattr(said, field.name)
            if value or (value == 0 and field.name in ("shard", "status")):
                filled[name].add(field.name)
            for inner in value if isinstance(value, tuple) else (value,):
                if isinstance(inner, msgspec.Struct):
                    fill(inner)

    def look(world: World, said: Explanation) -> Any:
        fill(said)

        async def more() -> None:
            fill(await world.client.explain_queue(said.queue))
            fill(await world.client.explain_lane(1))

        return more()

    for way, *_ in STATES:
        lived(way, look)
    for kind in (Explanation, QueueExplanation, LaneExplanation, NextStep, ActiveBlock, Try, Owner):
        # The tests below; tests/pacing/test_lanes.py; tests/channels; what came back: tests/mail;
        # the window: tests/api/test_window.py.
        elsewhere = {"late", "limits", "lane_free_at_ms", "recipient", "reports", "window"}
        assert set(kind.__struct_fields__) - filled[kind.__name__] <= elsewhere


def test_after_a_crash_it_is_told_when_the_lane_is_free_again() -> None:
    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(3.0)
        member = world.start("one")
        number = await world.send(QUEUE)
        await asyncio.sleep(1)
        world.crash("one")
        await asyncio.sleep(1)
        said = await told(world, number)
        assert said.state is State.waiting
        assert said.next.lane_free_at_ms is not None
        in_ms = said.next.lane_free_at_ms - world.clock.now_ms()
        assert 20_000 < in_ms <= 30_000
        assert "its lane is free at" in said.sentence
        assert "not been tried" not in said.sentence
        assert "tried now" not in said.sentence
        await asyncio.sleep(20)
        assert "may be lost" in (await told(world, number)).sentence
        await asyncio.sleep(20)
        nobody = await told(world, number)
        assert "once one runs" in nobody.sentence
        assert "tried now" not in nobody.sentence
        assert (nobody.next.lane_free_at_ms or 0) < world.clock.now_ms()
        assert member.name not in world.members

    simulate(8, story)


def test_after_a_crash_the_queue_and_the_lane_tell_it_too() -> None:
    """They said that the first message is tried as soon as it can be."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(3.0)
        world.start("one")
        await world.send(QUEUE)
        await asyncio.sleep(1)
        world.crash("one")
        await asyncio.sleep(1)
        queue, lane = await world.client.explain_queue(QUEUE), await world.client.explain_lane(1)
        assert "its lane is free at" in queue.sentence
        assert "it is free at" in lane.sentence
        assert queue.next.lane_free_at_ms == lane.next.lane_free_at_ms
        assert 20_000 < (lane.next.lane_free_at_ms or 0) - world.clock.now_ms() <= 30_000
        await asyncio.sleep(40)
        for said in (await world.client.explain_queue(QUEUE), await world.client.explain_lane(1)):
            assert "once one runs" in said.sentence

    simulate(11, story)


def test_while_nobody_runs_it_is_not_said_to_be_tried_now() -> None:
    async def story(world: World) -> None:
        number = await world.send(QUEUE)
        assert "goes when a worker takes its lane" in (await told(world, number)).sentence
        await asyncio.sleep(5)
        said = await told(world, number)
        assert "no worker serves its lane now" in said.sentence
        assert "tried now" not in said.sentence

    simulate(9, story)


def test_a_start_whose_end_is_not_known_is_told() -> None:
    """It was noted, since its lane had lost a worker before; then its own was lost."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(3.0)
        number = await world.send(QUEUE)
        for name in ("one", "two"):
            world.poison(world.start(name), number)
            await asyncio.sleep(60)
        said = await told(world, number)
        assert "A try of it was started whose end is not known." in said.sentence

    simulate(10, story)


def test_what_is_held_names_its_reason_in_the_sentence() -> None:
    lived(over_quota, lambda _world, said: _says(said, "is held: quota."))
    lived(away, lambda _world, said: _says(said, "is held: circuit open."))


def test_a_queue_and_its_lane_name_what_holds_them_by_the_words_of_because() -> None:
    """A queue behind an open circuit was told as `unreachable`, due when the circuit ends."""

    async def story(world: World) -> None:
        world.start("one")
        await away(world)
        queue, lane = await world.client.explain_queue(QUEUE), await world.client.explain_lane(1)
        for said in (queue, lane):
            assert said.because.startswith("circuit open: ")
            assert "Held: circuit open until " in said.sentence
            assert "unreachable" not in said.sentence
            assert said.next.what is NextKind.probe
        assert queue.next == lane.next
        await world.client.pause(QUEUE)
        await world.client.lanes.pause(1)
        said = await world.client.explain_queue(QUEUE)
        assert "Held: paused, lane paused, circuit open" in said.sentence

    simulate(12, story)


def test_a_limit_that_is_used_up_does_not_count_as_a_hold() -> None:
    async def story(world: World) -> None:
        await world.send(QUEUE)
        await world.client.limit(QUEUE, "1/min")
        world.start("one")
        await asyncio.sleep(1)
        await world.send(QUEUE)
        await asyncio.sleep(1)
        said = await world.client.explain_queue(QUEUE)
        assert (sum(said.waiting.values()), said.held, said.because) == (1, {}, "")
        assert "A limit is used up for now: no more than 1/min." in said.sentence
        assert "when its limit has a rate slot" in said.sentence

    simulate(13, story)


def _says(said: Explanation, words: str) -> None:
    assert words in said.sentence


def test_a_late_proof_of_delivery_is_marked() -> None:
    """It was given up for its deadline while its last try was under way."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.good(10.0)
        world.start("one")
        number = await world.send(QUEUE, expires_at=now_of(world) + timedelta(seconds=5))
        await asyncio.sleep(7)
        assert (await told(world, number)).reason == "expired"
        await asyncio.sleep(5)
        said = await told(world, number)
        assert (said.state, said.late) == (State.delivered, True)
        assert "after it had been given up" in said.sentence

    simulate(2, story)


def test_every_try_is_told_with_time_level_outcome_error_and_duration() -> None:
    """The one that delivered too."""

    def look(world: World, said: Explanation) -> None:
        first, last = said.tries
        assert (first.number, first.level, first.outcome, first.took_ms) == (1, 0, "failed", 200)
        assert (first.error, first.status) == ("500 hush", 500)
        assert (last.number, last.level, last.outcome, last.took_ms) == (2, 1, "delivered", 300)
        starts = [receipt.started_ms for receipt in world.ledger.book]
        assert [first.started_at_ms, last.started_at_ms] == starts
        assert said.finished_at_ms == world.ledger.book[-1].ended_ms
        assert "in 2 tries" in said.sentence

    lived(delivered, look)


def test_of_two_blocks_the_later_end_counts_and_both_are_shown() -> None:
    """A retry in a queue over quota."""

    async def story(world: World) -> None:
        world.start("one")
        world.behaviours["ash"] = receivers.flaky(1.0)
        number = await world.send(QUEUE)
        await asyncio.sleep(0.5)
        world.behaviours["ash"] = receivers.quota_until(world.clock.now_ms() + 10**8)
        await world.send(QUEUE)
        await asyncio.sleep(0.05)
        said = await told(world, number)
        retry, quota = said.blocks
        assert (retry.scope, retry.kind, retry.reason) == (BlockScope.message, "retry", "500")
        assert (quota.scope, quota.kind, quota.reason) == (BlockScope.queue, "quota", "429")
        assert retry.until_ms < quota.until_ms == said.next.not_before_ms  # type: ignore[operator]
        assert 130 < in_s(world, said) < 230

    simulate(3, story)


def test_explain_is_right_in_every_state() -> None:
    """Random histories, asked at random moments, held against what then came: no try before its
    time, none where nothing was to come, and an exact one within a second. A thousand exact ones in
    `make proof ITEM=explain`."""
    checked, broken = foretell(first_seed=34, worlds=8)
    assert broken == []
    for what in NextKind:
        unasked = (NextKind.answer, NextKind.read)
        assert what in unasked or checked[f"next {what}"] >= 10, checked
    for state in State:
        assert checked[f"state {state}"] >= 10, checked
    assert checked["exact"] >= 30


def test_a_queue_tells_what_waits_by_level_and_who_serves_it() -> None:
    """And what holds all of it."""

    async def story(world: World) -> None:
        member = world.start("one")
        await retrying(world)
        await world.send(QUEUE, delay=HOUR_S)
        said = await world.client.explain_queue(QUEUE)
        assert (said.waiting, said.held, said.uncertain, said.dead) == ({0: 1, 1: 1}, {}, 0, 0)
        (lane,) = said.lanes
        assert lane.owner is not None
        assert (lane.server, lane.owner.process) == ("ash", member.road.owner)
        assert lane.owner.pid > 0
        assert said.oldest_due_ms == said.next.not_before_ms
        assert "2 waiting" in said.sentence
        assert "hush" not in said.sentence
        await world.client.pause(QUEUE)
        said = await world.client.explain_queue(QUEUE)
        assert (said.waiting, said.held, said.next.what) == ({}, {0: 1, 1: 1}, NextKind.held)
        assert "Held: paused. " in said.sentence
        await asyncio.sleep(60)
        assert (await world.client.explain_queue(QUEUE)).lanes[0].owner is None
        await world.client.cancel_all(QUEUE)
        assert (await world.client.explain_queue(QUEUE)).next.what is NextKind.nothing

    simulate(4, story)


def test_a_lane_tells_its_circuit_and_all_that_waits_in_it() -> None:
    """Of all its queues."""

    async def story(world: World) -> None:
        world.start("one")
        await world.send("sim://ash/b", delay=HOUR_S)
        await away(world)
        await asyncio.sleep(3)  # a probe is over, and the next one is not due
        number = (await world.client.explain_queue(QUEUE)).lanes[0].id
        said = await world.client.explain_lane(number)
        assert (said.queues, said.held, said.next.what) == (2, {0: 2}, NextKind.probe)
        assert said.because == f"circuit open: {said.lane.circuit.reason}"
        assert said.lane.circuit.is_open
        assert said.next.not_before_ms == said.lane.circuit.until_ms
        assert [(b.scope, b.kind) for b in said.blocks] == [(BlockScope.lane, "unreachable")]
        assert f"Lane {number} (sim, ash, shard 0)" in said.sentence
        await world.client.lanes.pause(number)
        said = await world.client.explain_lane(number)
        assert (said.waiting, said.held, said.next.what) == ({}, {0: 2}, NextKind.held)

    simulate(5, story)


def test_a_queue_whose_exhausted_heads_hold_all_of_it_says_so() -> None:
    """And not that it is tried now."""

    async def story(world: World) -> None:
        world.start("one")
        await holding(world)
        said = await world.client.explain_queue(QUEUE)
        assert (said.waiting, said.next.what) == ({}, NextKind.held)
        assert "until somebody replays or cancels them" in said.sentence
        lane = await world.client.explain_lane(said.lanes[0].id)
        assert (lane.next.what, lane.next.not_before_ms) == (NextKind.held, None)
        await world.send(QUEUE, delay=HOUR_S)
        said = await world.client.explain_queue(QUEUE)
        assert (said.waiting, said.next.what) == ({0: 1}, NextKind.attempt)
        assert said.next.not_before_ms == world.clock.now_ms() + HOUR_S * 1000

    simulate(6, story)


def test_what_is_not_known_is_said_so() -> None:
    """Unknown ids, another tenant's, no such queue or lane."""

    async def story(world: World) -> None:
        number = await world.send(QUEUE)
        road = world.client
        with pytest.raises(UnknownMessage, match="not a message id"):
            await road.explain("7")
        with pytest.raises(UnknownMessage, match="knows no message"):
            await road.explain("msg_0000000000001")
        with pytest.raises(UnknownMessage, match="of tenant 'acme'"):
            await road.explain(to_text(number), tenant="acme")
        assert (await road.explain(to_text(number), tenant=None)).tenant == "default"
        with pytest.raises(UnknownQueue, match="no queue"):
            await road.explain_queue("sim://ash/nobody")
        with pytest.raises(UnknownQueue, match="no queue"):
            await road.explain_queue(QUEUE, tenant="acme")
        with pytest.raises(UnknownLane, match="no lane 77"):
            await road.explain_lane(77)

    simulate(6, story)
