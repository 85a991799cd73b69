"""A row that cannot be used stops nothing but itself: it is told of, and neither lost nor tried again
and again."""

import asyncio
import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from postroad import Postroad
from postroad.engine.replaying import EventWalk
from postroad.model.endpoint import OPERATOR, EndpointEntry, endpoint_number
from postroad.model.endpoint_life import judge
from postroad.model.errors import BadBody, BadFilter, BadInput, Conflict
from postroad.model.event import EventTarget
from postroad.model.matching import Matcher
from postroad.ports.events import EventStore
from tests.events.lives import DAY_S, Lives
from tests.events.test_life import away
from tests.events.test_publish_in import transaction
from tests.rig.world import World, simulate

HOOK = "http://127.0.0.1:9/hook"
SPOILT = b'{"types":["order.*"],"filter":{"/total":{"gte":null}}}'
"""As NaN was stored once."""


async def _spoil(road: Postroad, number: str, tenant: str = "default") -> None:
    """Give an endpoint a filter that cannot be used."""
    store, wanted = road.store, endpoint_number(number)
    assert isinstance(store, EventStore)
    (entry,) = await store.endpoint_page(tenant, wanted - 1, 1)
    hooks = await road.store.read_hooks([entry.row.queue])
    row = replace(entry.row, spec=SPOILT, version=entry.row.version + 1)
    assert await store.endpoint_put(row, hooks[0])


@pytest.mark.parametrize(
    "given",
    [
        {"/total": {"gte": math.nan}},
        {"/total": {"lt": math.inf}},
        {"/total": math.nan},
        {"/total": {"in": [1, -math.inf]}},
        {"any": [{"/total": {"not": {"equals": math.nan}}}]},
        {"/total": 10**5_000},
        {1: {"gte": 2}},
        {"not": {None: 1}},
    ],
)
async def test_a_filter_that_json_does_not_have_is_refused(road: Postroad, given: Any) -> None:
    with pytest.raises(BadFilter):
        await road.endpoints.create(HOOK, filter=given)
    assert not (await road.endpoints.list()).endpoints


async def test_a_stored_filter_that_cannot_be_used_matches_nothing_and_is_told(
    road: Postroad,
) -> None:
    spoilt = await road.endpoints.create(HOOK, types=("order.*",))
    await road.endpoints.create(HOOK, types=("order.*",))
    operators = await road.endpoints.create(HOOK, tenant=OPERATOR)
    await _spoil(road, spoilt.id)
    await _spoil(road, operators.id, OPERATOR)
    assert len((await road.publish("order.paid", {"total": 1})).messages) == 1
    async with transaction(road) as connection:
        await road.publish_in(connection, "order.paid", {"total": 2})
    since = datetime.now(UTC) - timedelta(hours=1)
    late = await road.endpoints.create(pull=True)
    replay = await road.replays.start("all", since=since)
    await road.endpoints.disable(spoilt.id)  # the operator would be told
    await road.run(until_idle=True)
    assert (await road.replays.get(replay.id)).state == "done"
    assert len((await road.endpoints.feed(late.id)).messages) == 2
    assert "gte" in (await road.endpoints.get(spoilt.id)).fault
    mended = await road.endpoints.change(spoilt.id, filter={"/total": {"gte": 2}})
    assert mended.fault == ""
    assert len((await road.publish("order.paid", {"total": 3})).messages) == 3


@pytest.mark.parametrize("body", [b"nope", b'{"a":', b'"\xff"', b'{"a":1}x', b"[" * 100_000])
async def test_a_raw_body_that_is_no_json_is_refused_also_in_a_transaction(
    road: Postroad, body: bytes
) -> None:
    with pytest.raises(BadBody, match="is JSON"):
        await road.publish("order.paid", Raw(body))
    with pytest.raises(BadBody, match="is JSON"):
        async with transaction(road) as connection:
            await road.publish_in(connection, "order.paid", Raw(body))
    assert not (await road.events.list()).events


async def test_a_number_that_no_filter_can_read_reaches_those_without_one(road: Postroad) -> None:
    """A filter that is set after the event was published, and before it is matched."""
    async with transaction(road) as connection:
        await road.publish_in(connection, "order.paid", Raw(b'{"total":1e999}'))
    choosy = await road.endpoints.create(pull=True, filter={"/total": {"gte": 1}})
    while not (await road.events.list()).events:  # on PostgreSQL it is matched by the run
        await road.run(until_idle=True)
    plain = await road.endpoints.create(pull=True)
    since = datetime.now(UTC) - timedelta(hours=1)
    replay = await road.replays.start("all", since=since)
    await road.run(until_idle=True)
    assert (await road.replays.get(replay.id)).state == "done"
    (read,) = (await road.endpoints.feed(plain.id)).messages
    assert read.body == '{"total":1e999}'
    assert not (await road.endpoints.feed(choosy.id)).messages


async def test_an_arrival_that_cannot_be_matched_is_kept_for_a_replay_and_stops_none(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await road.endpoints.create(pull=True)
    async with transaction(road) as connection:
        sent = [await road.publish_in(connection, name, 1) for name in ("odd", "order.paid")]
    match = Matcher.match

    def odd(self: Matcher, type_name: str, *more: Any) -> tuple[EventTarget, ...]:
        if type_name == "odd":
            raise BadFilter("it cannot be used")
        return match(self, type_name, *more)

    if road.dsn.startswith("postgres"):
        monkeypatch.setattr(Matcher, "match", odd)
    running = asyncio.create_task(road.run())
    found = await road.endpoints.feed(made.id, wait=30)
    while not any(one.event == sent[1].id for one in found.messages):
        found = await road.endpoints.feed(made.id, wait=30)
    monkeypatch.undo()
    if road.dsn.startswith("postgres"):
        (lost,) = (await road.events.unmatched()).types
        assert (lost.type, lost.last) == ("odd", sent[0].id)
        since = datetime.now(UTC) - timedelta(hours=1)
        await road.replays.start("missed", endpoint=made.id, since=since)
        (late,) = (await road.endpoints.feed(made.id, wait=30)).messages
        assert late.event == sent[0].id
    road.stop()
    await running


async def test_a_replay_that_cannot_go_on_is_paused_with_its_reason_and_others_end(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tenant in ("acme", "other"):
        await road.endpoints.create(pull=True, tenant=tenant)
        await road.publish("order.paid", 1, tenant=tenant)
    since = datetime.now(UTC) - timedelta(hours=1)
    ids = {
        tenant: (await road.replays.start("all", since=since, tenant=tenant)).id
        for tenant in ("acme", "other")
        if await _acked(road, tenant)
    }
    targets = EventWalk.targets

    async def broken(self: EventWalk, job: Any) -> Any:
        if job.tenant == "acme":
            raise BadInput("it cannot be read")
        return await targets(self, job)

    monkeypatch.setattr(EventWalk, "targets", broken)
    await road.run(until_idle=True)
    stopped = await road.replays.get(ids["acme"], tenant="acme")
    assert (stopped.state, stopped.stopped_because) == ("paused", "it cannot be read")
    assert (await road.replays.get(ids["other"], tenant="other")).state == "done"
    monkeypatch.undo()
    await road.replays.resume(stopped.id, tenant="acme")
    await road.run(until_idle=True)
    assert (await road.replays.get(ids["acme"], tenant="acme")).state == "done"


async def _acked(road: Postroad, tenant: str) -> bool:
    (made,) = (await road.endpoints.list(tenant=tenant)).endpoints
    (read,) = (await road.endpoints.feed(made.id, tenant=tenant)).messages
    return (await road.endpoints.ack(made.id, [read.id], tenant=tenant)).acked == 1


def test_an_endpoint_that_cannot_be_judged_does_not_keep_others_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story(world: World) -> None:
        lives = Lives(world)
        for name in ("odd", "away"):
            await lives.make(name, away())
        odd = endpoint_number(lives.made["odd"].id)

        def judged(entry: EndpointEntry, *more: Any) -> Any:
            if entry.row.id == odd:
                raise BadInput("it cannot be judged")
            return judge(entry, *more)

        monkeypatch.setattr("postroad.verbs.endpoint_watch.judge", judged)
        await lives.road.publish("order.paid", 1)
        world.start("one")
        await asyncio.sleep(1.5 * DAY_S)
        assert (lives.events("odd"), lives.events("away")) == ([], ["endpoint.failing"])

    simulate(7, story)


async def test_an_endpoint_that_cannot_be_deleted_does_not_keep_others_from_it(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await road.endpoints.create(HOOK, expires_in=0.05) for _ in range(2)]
    delete = road.endpoints.expiry._delete

    async def odd(number: str, /, *, tenant: str) -> None:
        if number == made[0].id:
            raise Conflict("it is being changed")
        await delete(number, tenant=tenant)

    monkeypatch.setattr(road.endpoints.expiry, "_delete", odd)
    running = asyncio.create_task(road.run())
    while len((await road.endpoints.list()).endpoints) > 1:
        await asyncio.sleep(0.02)
    assert [one.id for one in (await road.endpoints.list()).endpoints] == [made[0].id]
    road.stop()
    await running
