"""The rate of an endpoint and that of its draining: set and lifted with what they belong to."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad, Steps
from postroad.config import Settings
from postroad.model.errors import BadInput, Conflict, StoreError
from postroad.ports.events import EventStore
from postroad.verbs import endpoint_moves
from postroad.verbs.event_stores import event_store
from tests.api.stand import Stand, kind
from tests.events.test_move import HELD, elsewhere, own_receiver
from tests.webhook.conftest import LOCAL, Receiver

__all__ = ["own_receiver"]

HOOK = "http://127.0.0.1:9/hook"
DRAINS = ["50/s (draining)"]
Change = Callable[[], Awaitable[object]]


async def limits(road: Postroad, queue: str) -> list[str]:
    return [one.limit for one in (await road.explain_queue(queue)).limits]


async def look(road: Postroad) -> None:
    """Let the endpoints be looked at, as every process does now and then."""
    await road.endpoints.watch._look(event_store(road.store))


def meanwhile(road: Postroad, monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Change something while an endpoint is looked at."""
    store = road.store
    assert isinstance(store, EventStore)
    backlog = store.endpoint_backlog

    async def changed(*given: Any) -> tuple[int, int, int]:
        monkeypatch.setattr(store, "endpoint_backlog", backlog)
        await change()
        return await backlog(*given)

    monkeypatch.setattr(store, "endpoint_backlog", changed)


async def test_the_rate_of_draining_ends_with_it(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    await road.endpoints.disable(made.id)
    assert await limits(road, made.queue) == []
    await road.endpoints.enable(made.id)
    assert await limits(road, made.queue) == DRAINS
    await look(road)
    assert await limits(road, made.queue) == []
    assert not (await road.endpoints.get(made.id)).draining_since_ms


async def test_who_disabled_and_enabled_it_at_that_moment_has_it_drained_anew(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await road.endpoints.create(HOOK)

    async def again() -> None:
        await road.endpoints.disable(made.id)
        await road.endpoints.enable(made.id)

    await again()
    meanwhile(road, monkeypatch, again)
    await look(road)
    assert (await road.endpoints.get(made.id)).draining_since_ms
    assert await limits(road, made.queue) == DRAINS


async def test_a_rate_that_was_set_at_that_moment_stays(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await road.endpoints.create(HOOK, rate="5/s")
    await road.endpoints.disable(made.id)
    await road.endpoints.enable(made.id)
    assert await limits(road, made.queue) == ["5/s"]
    meanwhile(road, monkeypatch, lambda: road.endpoints.change(made.id, rate="9/s"))
    await look(road)
    await look(road)
    assert await limits(road, made.queue) == ["9/s"]


async def test_a_limit_that_an_operator_has_set_is_left_alone(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    await road.limit(made.queue, "3/s")
    await road.endpoints.disable(made.id)
    await road.endpoints.enable(made.id)
    assert await limits(road, made.queue) == ["3/s"]
    await look(road)
    assert await limits(road, made.queue) == ["3/s"]
    await road.endpoints.disable(made.id)
    await road.limit(made.queue, None)
    await road.endpoints.enable(made.id)
    await road.limit(made.queue, "4/s")  # while it drains
    await look(road)
    assert await limits(road, made.queue) == ["4/s"]


async def test_a_change_that_is_refused_changes_nothing(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    refused: list[dict[str, Any]] = [{"expires_in": -1}, {"filter": {}}, {"keep_bodies": -1}]
    for bad in refused:
        with pytest.raises(BadInput):
            await road.endpoints.change(made.id, rate="9/s", ladder=Steps(1, (1_000,)), **bad)
    facts = await road.endpoints.get(made.id)
    assert (facts.rate, facts.ladder) == ("", made.ladder)
    assert await limits(road, made.queue) == []
    await road.endpoints.change(made.id, rate="9/s", ladder=Steps(1, (1_000,)))
    facts = await road.endpoints.get(made.id)
    assert (facts.rate, facts.ladder.retries) == ("9/s", 1)
    assert await limits(road, made.queue) == ["9/s"]
    await road.endpoints.change(made.id, rate="")
    assert await limits(road, made.queue) == []


async def test_a_change_of_url_that_waits_too_long_sets_no_rate(
    road: Postroad, own_receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_moves, "MOVE_S", 0.3)
    made = await road.endpoints.create(own_receiver.url(HELD))
    await road.publish("order.paid", 1)
    running = asyncio.create_task(road.run())
    while not own_receiver.got(HELD):
        await asyncio.sleep(0.02)
    there = elsewhere(own_receiver, "/status/200")
    with pytest.raises(Conflict, match="nothing was changed"):
        await road.endpoints.change(made.id, url=there, rate="9/s", ladder=Steps(1, (1_000,)))
    facts = await road.endpoints.get(made.id)
    assert (facts.rate, facts.ladder) == ("", made.ladder)
    assert await limits(road, made.queue) == []
    own_receiver.release()
    road.stop()
    await running


async def test_a_change_that_was_cut_off_is_made_whole_by_the_same_one(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await road.endpoints.create(HOOK)

    async def away(*_: object) -> None:
        raise StoreError("away")

    monkeypatch.setattr(road.store, "limit_queue", away)
    with pytest.raises(StoreError):
        await road.endpoints.change(made.id, rate="9/s")
    monkeypatch.undo()
    await road.endpoints.change(made.id, rate="9/s")
    assert await limits(road, made.queue) == ["9/s"]


async def test_a_patch_that_is_refused_turns_nothing(tmp_path: Path) -> None:
    async with Stand(tmp_path, Settings(webhooks=LOCAL)) as stand:
        made = (await stand.say("POST", "/v1/endpoints", {"url": HOOK})).json()
        path = f"/v1/endpoints/{made['id']}"
        off = {"state": "disabled", "filter": {"total": 1}}
        assert kind(await stand.say("PATCH", path, off)) == "bad-filter"
        assert (await stand.say("GET", path)).json()["state"] == "enabled"
        await stand.say("PATCH", path, {"state": "disabled", "by": "operator"})
        on = {"state": "enabled", "description": "mine"}
        assert kind(await stand.say("PATCH", path, on)) == "conflict"
        shown = (await stand.say("GET", path)).json()
        assert (shown["state"], shown["description"]) == ("disabled", "")
