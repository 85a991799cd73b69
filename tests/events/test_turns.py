"""Turns of an endpoint's life on both databases: who may do what, and what the operator is told."""

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from postroad import Postroad
from postroad.model.endpoint import OPERATOR, EndpointLife
from postroad.model.endpoint_life import HOUR_MS, EndpointHour, disabled_life
from postroad.model.errors import BadInput, Conflict
from postroad.model.event import EventRow, EventTarget
from postroad.model.replay import pair_of
from postroad.model.states import NEVER
from postroad.verbs import endpoint_watch
from postroad.verbs.endpoint_watch import _apart
from postroad.verbs.event_stores import event_store
from tests.webhook.conftest import Receiver

HOOK = "http://127.0.0.1:9/hook"


async def told(road: Postroad) -> list[dict[str, Any]]:
    """The operational events that are stored, the oldest first."""
    page = await road.events.list(tenant=OPERATOR)
    found = [await road.events.get(one.id, tenant=OPERATOR) for one in page.events]
    return [json.loads(one.body) for one in reversed(found)]


async def test_an_endpoint_that_fails_is_told_of_disabled_and_recovers(
    road: Postroad, receiver: Receiver
) -> None:
    ops = await road.endpoints.create(receiver.url("/status/200") + "?ops", tenant=OPERATOR)
    made = await road.endpoints.create(receiver.url("/status/500"))
    await road.endpoints.set_rules(notice_after_s=0, disable_after_s=0.001)
    for number in range(2):
        await road.publish("order.paid", number)
        await road.run(until_idle=True)
    facts = await road.endpoints.get(made.id)
    assert (facts.state, facts.disabled_by, facts.health) == ("disabled", "itself", "failing")
    assert "500" in facts.last_error
    assert (await road.endpoints.stats(made.id)).total.tries == {"failed": 2}
    await road.endpoints.change(made.id, url=receiver.url("/status/200") + "?mended")
    await road.endpoints.enable(made.id)
    await road.publish("order.paid", 3)
    await road.run(until_idle=True)
    assert (await road.endpoints.get(made.id)).health == "healthy"
    types = ["endpoint.failing", "endpoint.disabled", "endpoint.recovered"]
    assert [one["type"] for one in await told(road)] == types
    assert {one["endpoint"] for one in await told(road)} == {made.id}
    await road.run(until_idle=True)
    assert (await road.endpoints.stats(ops.id, tenant=OPERATOR)).total.tries == {"delivered": 3}


async def test_one_that_recovers_while_the_road_stops_is_told_of(
    road: Postroad, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its counts were written, and it was not judged: nobody heard of it for an hour."""
    monkeypatch.setattr(endpoint_watch, "WRITE_S", 0.01)
    made = await road.endpoints.create(receiver.url("/status/500"))
    await road.endpoints.set_rules(notice_after_s=0)
    await road.publish("order.paid", 1)
    await road.run(until_idle=True)
    await road.endpoints.change(made.id, url=receiver.url("/status/200") + "?mended")
    await road.publish("order.paid", 2)
    asked, find = asyncio.Event(), event_store(road.store).endpoints_of

    async def hangs_at_first(queues: Any) -> Any:
        if not asked.is_set():
            asked.set()
            await asyncio.Event().wait()
        return await find(queues)

    monkeypatch.setattr(road.store, "endpoints_of", hangs_at_first)
    running = asyncio.create_task(road.run())
    await asked.wait()
    road.stop()
    await running
    types = ["endpoint.failing", "endpoint.recovered"]
    assert [one["type"] for one in await told(road)] == types


async def test_what_an_operator_disabled_its_owner_cannot_enable(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    await road.endpoints.disable(made.id, by="operator", reason="abuse")
    with pytest.raises(Conflict, match="operator"):
        await road.endpoints.enable(made.id)
    assert (await road.endpoints.disable(made.id)).disabled_by == "operator"
    with pytest.raises(Conflict, match="enable the endpoint instead"):
        await road.resume(f"endpoint:{made.id}")
    assert (await road.endpoints.enable(made.id, by="operator")).state == "enabled"
    (event,) = await told(road)
    assert (event["disabled_by"], event["reason"]) == ("operator", "abuse")


async def test_dead_messages_of_an_endpoint_are_told_together(
    road: Postroad, receiver: Receiver
) -> None:
    made = await road.endpoints.create(receiver.url("/status/400"), reject=(400,))
    for number in range(3):
        await road.publish("order.paid", number)
    await road.run(until_idle=True)
    (said,) = [one for one in await told(road) if one["type"] == "message.dead"]
    assert (said["count"], said["queue"], said["endpoint"]) == (3, made.queue, made.id)


async def test_operational_events_make_no_circle(road: Postroad) -> None:
    """Nobody publishes to the operator, and nothing is told about the operator's own endpoints."""
    with pytest.raises(BadInput, match="operational"):
        await road.publish("endpoint.failing", {}, tenant=OPERATOR)
    for tenant in ("default", "evil"):  # their handlers could not tell who sent it
        with pytest.raises(BadInput, match="the road alone sends to it"):
            await road.send(OPERATOR, {"type": "endpoint.disabled"}, tenant=tenant)
    made = await road.endpoints.create(HOOK, tenant=OPERATOR)
    await road.endpoints.disable(made.id, tenant=OPERATOR)
    assert await told(road) == []


async def test_what_disabled_an_endpoint_is_recovered_too(
    road: Postroad, receiver: Receiver
) -> None:
    made = await road.endpoints.create(receiver.url("/status/410"))
    await road.publish("order.paid", 1)
    await road.run(until_idle=True)
    facts = await road.endpoints.get(made.id)
    assert (facts.state, facts.disabled_by) == ("disabled", "itself")
    assert (await road.endpoints.recover(made.id, dry_run=True)).messages == 1


async def test_one_that_disabled_itself_is_not_called_healthy(road: Postroad) -> None:
    """Though the process that got its answer was killed before it wrote that."""
    made = await road.endpoints.create(HOOK)
    (entry,) = await event_store(road.store).endpoint_page("default", 0, 1)
    life = disabled_life(entry.row.life, "itself", "410 Gone", 10 * HOUR_MS)
    assert await road.endpoints.watch._turns.turn(entry, life, paused=True)
    facts = await road.endpoints.get(made.id)
    assert (facts.health, facts.last_error) == ("failing", "410 Gone")
    assert facts.failing_since_ms == facts.changed_at_ms
    await road.endpoints.enable(made.id)
    assert (await road.endpoints.get(made.id)).health == "healthy"


def test_of_a_spell_that_a_killed_process_did_not_tell_the_last_hour_is_recovered() -> None:
    life = disabled_life(EndpointLife(), "itself", "410 Gone", 10 * HOUR_MS)
    assert life.spell_since_ms == 9 * HOUR_MS


def test_an_hour_that_ends_between_two_answers_is_written_in_its_order() -> None:
    """PostgreSQL takes any of two rows of one statement that are of one endpoint."""
    hours = [EndpointHour(7, at_ms, (), at_ms > 0, 0, 0, "") for at_ms in (0, HOUR_MS)]
    first, rest = _apart(hours)
    assert (first, rest) == (hours[:1], hours[1:])


def test_an_event_that_waited_for_its_commit_is_not_from_before_an_endpoint() -> None:
    """What is published in a caller's transaction has its id before it is matched."""
    made = partial(EventRow, id=10, tenant="t", type="a", body=b"", channels=b"", made_at_ms=0)
    target = EventTarget(1, 1, 0)
    late = pair_of(made(first=30, last=30, matched=1), target, 40, since=20)
    early = pair_of(made(first=12, last=12, matched=1), target, 40, since=20)
    assert ((late.first, late.last), (early.first, early.last)) == ((30, 30), (0, 0))


async def test_a_disabled_endpoint_is_counted_as_such_and_not_as_a_paused_queue(
    road: Postroad,
) -> None:
    made = await road.endpoints.create("http://127.0.0.1:9/hook")
    await road.send("http://127.0.0.1:9/plain", 1)
    await road.pause("http://127.0.0.1:9/plain")
    await road.endpoints.disable(made.id)
    for most in (NEVER, 10):
        said = await road.inspect.overview(most=most)
        assert (said.paused_queues, said.disabled_endpoints) == (1, 1)
    await road.endpoints.enable(made.id)
    said = await road.inspect.overview()
    assert (said.paused_queues, said.disabled_endpoints) == (1, 0)
