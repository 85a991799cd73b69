"""Replays send again what failed, what a window held and what an endpoint missed, and nothing twice."""

import asyncio
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from postroad import Postroad
from postroad.engine.replaying import EventWalk
from postroad.model.errors import (
    BadInput,
    BadTime,
    Conflict,
    TenantFull,
    UnknownEndpoint,
    UnknownQueue,
)
from postroad.model.ids import IdSequence
from postroad.model.replay import NothingToReplay, ReplayJob, ReplaySlice, UnknownReplay
from postroad.ports.events import EventStore
from postroad.ports.replays import ReplayStore
from postroad.stores.sqlite.database import QUERIES
from postroad.stores.sqlite.store import SqliteStore
from postroad.verbs.replays import OPEN_MAX
from tests.webhook.conftest import Receiver

HOOK = "http://127.0.0.1:9/hook"
FAST = "1000/s"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def numbered(numbers: Iterable[int], count: int = 1) -> dict[str, int]:
    return {str(number): count for number in numbers}


def entries(receiver: Receiver, query: str) -> list[dict[str, Any]]:
    """What came to the endpoint with this query."""
    return [one for one in receiver.got("/status/200") if one["query"] == query]


def bodies(receiver: Receiver, query: str) -> Counter[str]:
    """How often each body came to the endpoint with this query."""
    return Counter(b64decode(entry["body"]).decode() for entry in entries(receiver, query))


def ok(receiver: Receiver, query: str) -> str:
    return f"{receiver.url('/status/200')}?{query}"


async def broken(road: Postroad, receiver: Receiver, count: int) -> str:
    """An endpoint whose messages of so many events are dead, and which answers again."""
    made = await road.endpoints.create(receiver.url("/status/418"), reject=(418,))
    for number in range(count):
        await road.publish("order.paid", number)
    await road.run(until_idle=True)
    await road.endpoints.change(made.id, url=ok(receiver, made.id))
    return made.id


async def test_what_failed_is_counted_first_and_then_sent_again(
    road: Postroad, receiver: Receiver
) -> None:
    endpoint = await broken(road, receiver, 5)
    counted = await road.replays.start(endpoint=endpoint, dry_run=True)
    assert (counted.id, counted.state, counted.total) == ("", "counted", 5)
    assert (await road.replays.list()).replays == ()
    replay = await road.replays.start(endpoint=endpoint, rate=FAST)
    assert (replay.state, replay.total, replay.replayed) == ("running", 5, 0)
    await road.run(until_idle=True)
    done = await road.replays.get(replay.id)
    assert (done.state, done.replayed, done.waiting) == ("done", 5, 0)
    assert done.ended_at_ms is not None
    assert bodies(receiver, endpoint) == numbered(range(5))
    assert (await road.dead.list()).messages == ()
    with pytest.raises(NothingToReplay):
        await road.replays.start(endpoint=endpoint)


async def test_an_endpoint_gets_what_it_missed_before_it_existed_once(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    for number in range(4):
        await road.publish("order.paid", number)
        await road.publish("refund.asked", 100 + number)
    made = await road.endpoints.create(ok(receiver, mark), types=("order.*",))
    await road.publish("order.paid", 4)  # it gets this one anyway
    replay = await road.replays.start("missed", endpoint=made.id, rate=FAST)
    assert replay.total == 4
    await road.run(until_idle=True)
    assert bodies(receiver, mark) == numbered(range(5))
    assert (await road.replays.get(replay.id)).replayed == 4
    with pytest.raises(NothingToReplay):
        await road.replays.start("missed", endpoint=made.id)


async def test_filters_narrow_what_was_missed(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    for number in range(50):
        await road.publish("order.paid", {"n": number})
    made = await road.endpoints.create(ok(receiver, mark), filter={"/n": {"gte": 45}})
    assert (await road.replays.start("missed", endpoint=made.id, rate=FAST)).total == 5
    await road.run(until_idle=True)
    assert bodies(receiver, mark) == dict.fromkeys((f'{{"n":{n}}}' for n in range(45, 50)), 1)


async def test_a_whole_window_is_sent_again_to_all_its_endpoints(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    for name in "ab":
        await road.endpoints.create(ok(receiver, f"{mark}-{name}"))
    for number in (1, 2, 3):
        await road.publish("order.paid", number)
        await asyncio.sleep(0.02)
    _, second, _ = (await road.events.list()).events
    since = EPOCH + timedelta(milliseconds=second.made_at_ms)  # by the store's clock
    until = since + timedelta(milliseconds=5)
    await road.run(until_idle=True)
    replay = await road.replays.start("all", since=since, until=until, rate=FAST)
    assert replay.total == 2
    await road.run(until_idle=True)
    for name in "ab":
        assert bodies(receiver, f"{mark}-{name}") == {"1": 1, "2": 2, "3": 1}


async def test_what_still_waits_is_never_doubled(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    made = await road.endpoints.create(ok(receiver, mark))
    await road.publish("order.paid", 1)
    await road.run(until_idle=True)
    await road.pause(made.queue)
    await road.publish("order.paid", 2)
    since = datetime.now(UTC) - timedelta(minutes=1)
    first = await road.replays.start("all", endpoint=made.id, since=since, rate=FAST)
    assert first.total == 1
    await road.run(until_idle=True)
    assert (await road.replays.get(first.id)).waiting == 1
    # What the first one made waits too, now.
    with pytest.raises(NothingToReplay):
        await road.replays.start("all", endpoint=made.id, since=since)
    await road.resume(made.queue)
    await road.run(until_idle=True)
    assert bodies(receiver, mark) == {"1": 2, "2": 1}


async def test_dead_messages_of_a_window_are_revived_and_not_copied(
    road: Postroad, receiver: Receiver
) -> None:
    endpoint = await broken(road, receiver, 3)
    dead = {one.id for one in (await road.dead.list()).messages}
    replay = await road.replays.start("all", endpoint=endpoint, rate=FAST)
    assert replay.total == 3
    await road.run(until_idle=True)
    assert {one["headers"]["webhook-id"] for one in entries(receiver, endpoint)} == dead
    assert (await road.dead.list()).messages == ()


async def test_a_replay_names_itself_to_the_recipient(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    await road.publish("order.paid", 1)
    made = await road.endpoints.create(ok(receiver, mark))
    replay = await road.replays.start("missed", endpoint=made.id)
    await road.run(until_idle=True)
    (entry,) = entries(receiver, mark)
    assert entry["headers"]["postroad-replay"] == replay.id


async def test_a_replay_is_paused_resumed_and_cancelled(road: Postroad, receiver: Receiver) -> None:
    endpoint = await broken(road, receiver, 3)
    replay = await road.replays.start(endpoint=endpoint, rate=FAST)
    assert (await road.replays.pause(replay.id)).state == "paused"
    await road.run(until_idle=True)
    assert bodies(receiver, endpoint) == {}
    assert (await road.replays.resume(replay.id)).state == "running"
    await road.run(until_idle=True)
    assert (await road.replays.get(replay.id)).state == "done"
    assert bodies(receiver, endpoint) == numbered(range(3))
    for change in (road.replays.pause, road.replays.resume, road.replays.cancel):
        with pytest.raises(Conflict, match="done"):
            await change(replay.id)
    since = datetime.now(UTC) - timedelta(minutes=1)
    other = await road.replays.start("all", since=since)
    assert (await road.replays.cancel(other.id)).state == "cancelled"
    await road.run(until_idle=True)
    assert (await road.replays.get(other.id)).replayed == 0
    assert [one.id for one in (await road.replays.list(limit=1)).replays] == [other.id]


async def test_an_endpoint_that_is_disabled_pauses_its_replay_and_a_deleted_one_ends_it(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    for number in range(3):
        await road.publish("order.paid", number)
    made = await road.endpoints.create(ok(receiver, mark))
    replay = await road.replays.start("missed", endpoint=made.id)
    await road.endpoints.disable(made.id)
    await road.run(until_idle=True)
    stopped = await road.replays.get(replay.id)
    assert (stopped.state, stopped.replayed) == ("paused", 0)
    assert "disabled" in stopped.stopped_because
    await road.replays.resume(replay.id)
    await road.endpoints.delete(made.id)
    await road.run(until_idle=True)
    gone = await road.replays.get(replay.id)
    assert (gone.state, gone.replayed) == ("cancelled", 0)
    assert gone.ended_at_ms is not None


async def test_replays_of_a_deleted_endpoint_end_also_where_they_are_paused(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    await road.publish("order.paid", 1)
    made, other = [await road.endpoints.create(ok(receiver, mark)) for _ in range(2)]
    replays = [await road.replays.start("missed", endpoint=made.id) for _ in range(2)]
    theirs = await road.replays.start("missed", endpoint=other.id)
    await road.replays.pause(replays[0].id)
    await road.endpoints.delete(made.id)
    for each in replays:
        gone = await road.replays.get(each.id)
        assert (gone.state, gone.stopped_because) == ("cancelled", f"{made.id} was deleted")
        assert gone.ended_at_ms is not None
    assert (await road.replays.get(theirs.id)).state == "running"


async def test_the_total_of_a_replay_is_at_least_what_was_replayed(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    """What waits when it is counted may be delivered when its turn comes."""
    made = await road.endpoints.create(ok(receiver, mark))
    await road.publish("order.paid", 1)
    await road.run(until_idle=True)
    await road.publish("order.paid", 2)
    replay = await road.replays.start("all", endpoint=made.id, since=EPOCH, rate=FAST)
    assert replay.total == 1
    await road.replays.pause(replay.id)
    await road.run(until_idle=True)
    await road.replays.resume(replay.id)
    await road.run(until_idle=True)
    done = await road.replays.get(replay.id)
    assert (done.state, done.replayed, done.total) == ("done", 2, 2)


async def test_an_endpoint_that_is_disabled_between_two_slices_pauses_its_replay(
    road: Postroad, receiver: Receiver, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        await road.publish("order.paid", number)
    made = await road.endpoints.create(ok(receiver, mark))
    replay = await road.replays.start("missed", endpoint=made.id, rate="10/s")
    step = EventWalk.step

    async def disabled_after(walk: EventWalk, job: ReplayJob, *rest: Any) -> ReplaySlice:
        if job.replayed:
            await road.endpoints.disable(made.id)
        return await step(walk, job, *rest)

    monkeypatch.setattr(EventWalk, "step", disabled_after)
    await road.run(until_idle=True)
    stopped = await road.replays.get(replay.id)
    assert stopped.state == "paused"
    assert 0 < stopped.replayed < 30


async def test_the_rate_is_kept_over_slices(road: Postroad) -> None:
    """By the clock of the store: when the next slice is due says how many were sent."""
    made = await road.endpoints.create(HOOK)
    await road.endpoints.delete(made.id)
    for number in range(25):
        await road.publish("order.paid", number)
    late = await road.endpoints.create(HOOK)
    await road.pause(late.queue)
    replay = await road.replays.start("missed", endpoint=late.id, rate="10/s")
    running = asyncio.ensure_future(road.run())
    seen: list[tuple[int, int]] = []
    while (await road.replays.get(replay.id)).state != "done":
        (job,) = await road.store.replay_page("default", 0, 1 << 62, 1)  # type: ignore[attr-defined]
        seen.append((job.replayed, job.next_at_ms - job.asked_at_ms))
        await asyncio.sleep(0.05)
    road.stop()
    await running
    for replayed, next_ms in seen:
        assert replayed * 100 <= max(next_ms, 0), (
            "the next slice is due when all so far are paid for"
        )
    assert {replayed for replayed, _ in seen} <= {0, 10, 20, 25}


async def test_bad_replays_are_refused_by_name(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    now = datetime.now(UTC)
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (BadInput, "failed", {}),
        (BadInput, "some", {"since": now}),
        (BadInput, "missed", {"since": now}),
        (BadInput, "all", {"queue": "x"}),
        (BadInput, "failed", {"queue": made.queue, "endpoint": made.id}),
        (BadInput, "failed", {"endpoint": made.id, "rate": "fast"}),
        (BadInput, "failed", {"endpoint": made.id, "rate": "1/s,2/h"}),
        (BadInput, "failed", {"endpoint": made.id, "mode": "twice"}),
        (BadInput, "failed", {"reason": "sad"}),
        (BadTime, "failed", {"since": now, "until": now}),
        (UnknownEndpoint, "failed", {"endpoint": "ep_0000000000000"}),
        (UnknownEndpoint, "failed", {"endpoint": "x"}),
        (UnknownQueue, "failed", {"queue": "https://nobody.example/"}),
        (NothingToReplay, "failed", {"since": now}),
        (NothingToReplay, "all", {"since": now - timedelta(days=1)}),
        (NothingToReplay, "missed", {"endpoint": made.id}),
    ]
    for error, what, options in wrong:
        with pytest.raises(error):
            await road.replays.start(what, **options)
    with pytest.raises(UnknownEndpoint):
        await road.replays.start(endpoint=made.id, tenant="other")
    with pytest.raises(UnknownReplay):
        await road.replays.get("rpl_0000000000000")
    with pytest.raises(UnknownReplay):
        await road.replays.cancel("rpl")
    assert (await road.replays.list()).replays == ()


async def test_a_tenant_has_only_so_many_replays_and_sees_its_own(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    await road.publish("order.paid", 1)
    await road.cancel_all(made.queue)
    ids = [(await road.replays.start("all", endpoint=made.id)).id for _ in range(OPEN_MAX)]
    with pytest.raises(TenantFull):
        await road.replays.start("all", endpoint=made.id)
    for number in ids:
        with pytest.raises(UnknownReplay):
            await road.replays.cancel(number, tenant="other")
    assert (await road.replays.list(tenant="other")).replays == ()


async def test_an_event_stays_while_a_replayed_message_needs_it(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, days_ms = road.store.clock, 3 * 86_400_000
    then_ms = clock.now_ms() - days_ms
    with monkeypatch.context() as past:
        past.setattr(clock, "now_ms", lambda: then_ms)
        event = await road.publish("order.paid", 1)
    made = await road.endpoints.create(HOOK)
    await road.pause(made.queue)
    await road.replays.start("missed", endpoint=made.id)
    await road.run(until_idle=True)

    async def left() -> list[str]:
        await road.store.retain(0, days_ms)
        return [one.id for one in (await road.events.list()).events]

    assert await left() == [event.id]
    await road.cancel_all(made.queue)
    assert await left() == []


async def _stale_slice(road: Postroad) -> ReplaySlice:
    """A slice that another process has prepared, of a replay that has sent all of it meanwhile."""
    store = road.store
    assert isinstance(store, EventStore)
    assert isinstance(store, ReplayStore)
    await road.replays.start("all", since=datetime.now(UTC) - timedelta(days=1), rate=FAST)
    (job,) = await store.replays_running()
    walk = EventWalk(store, store, IdSequence(4_000))
    to, now_ms = await walk.targets(job), store.clock.now_ms()
    step = await walk.step(job, to, 100, now_ms)
    await road.run(until_idle=True)
    return replace(step, owner=4_000, now_ms=now_ms + 3_600_000)


async def test_two_processes_with_the_same_slice_send_it_once(
    road: Postroad, receiver: Receiver, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await road.endpoints.create(ok(receiver, mark))
    await road.publish("order.paid", 1)
    await road.run(until_idle=True)
    step, store = await _stale_slice(road), road.store
    assert isinstance(store, ReplayStore)
    assert (await store.replay_events(step)).lost
    assert bodies(receiver, mark) == {"1": 2}
    if isinstance(store, SqliteStore):  # without the guard it would be sent a third time
        monkeypatch.setitem(QUERIES, "replay_lock", "select ?1 + ?2 + ?3 + ?4 + ?5")
        assert (await store.replay_events(step)).replayed == 1
