"""What keeps replays apart: from other events, from each other, and from too many of them."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial

import pytest
from msgspec.structs import replace

from postroad import Postroad
from postroad.config import Settings
from postroad.model.errors import TenantFull
from postroad.model.event import EventTarget
from postroad.model.ids import to_number
from postroad.model.replay import ReplayPair, ReplaySlice
from postroad.ports.replays import ReplayStore
from postroad.stores.postgres.connections import QUERIES as QUERIES_OF_POSTGRES
from postroad.stores.postgres.connections import dial, read_address
from postroad.stores.postgres.store import PostgresStore
from postroad.stores.replays import insert_values
from postroad.stores.sqlite.database import QUERIES
from postroad.stores.sqlite.store import SqliteStore
from postroad.verbs.replays import OPEN_MAX
from tests.webhook.conftest import LOCAL, Receiver

HOOK = "http://127.0.0.1:9/hook"
WAITING = """
select count(*) from pg_locks where locktype = 'advisory' and not granted
   and database = (select oid from pg_database where datname = current_database())
"""


async def queue_number(road: Postroad, name: str) -> int:
    queue = await road.store.find_queue("default", name)
    assert queue is not None
    return queue.id


@pytest.mark.parametrize("ending", ["waits", "dead", "delivered"])
async def test_a_message_between_those_of_an_event_is_not_its_own(
    road: Postroad, receiver: Receiver, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes draw ids in the same ms: those of one publish lie in steps, others in between."""
    status = {"waits": 200, "dead": 418, "delivered": 200}[ending]
    made = await road.endpoints.create(receiver.url(f"/status/{status}"), reject=(418,))
    published = await road.publish("order.paid", 1)
    if ending != "waits":
        await road.run(until_idle=True)
    number, store = to_number(published.messages[0]), road.store
    target = EventTarget(await queue_number(road, made.queue), 1, 0)
    assert isinstance(store, ReplayStore)

    def pair(first: int) -> ReplayPair:
        return ReplayPair(1, first, first + 3 * 8192, target, 1)

    own, others = await store.pair_states([pair(number - 8192), pair(number - 8191)])
    assert (own.waiting, bool(own.dead), own.had) == tuple(
        ending == each for each in ("waits", "dead", "delivered")
    )
    assert (others.waiting, others.dead, others.had) == (False, 0, False)
    if isinstance(store, SqliteStore):  # without the steps it would be taken for its own
        text = QUERIES["event_pair"].replace("% 8192 = 0", "% 1 = 0")
        monkeypatch.setitem(QUERIES, "event_pair", text)
        (others,) = await store.pair_states([pair(number - 8191)])
        assert others.waiting or others.dead or others.had


async def test_of_many_replays_those_go_on_that_are_due(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    await road.publish("order.paid", 1)
    await road.cancel_all(made.queue)
    store = road.store
    assert isinstance(store, ReplayStore)
    started = await road.replays.start("all", endpoint=made.id)
    (first,) = await store.replays_running()
    later_ms = store.clock.now_ms() + 3_600_000
    for number in range(1, 111):  # older ones, whose next slice is due in an hour
        job = replace(first, id=first.id - number, tenant=f"t{number}")
        assert await store.replay_add(job, 1)
        step = ReplaySlice(job, 1, later_ms, (), job.cursor + 1)
        assert not (await store.replay_events(step)).lost
    found = await store.replays_running()
    assert len(found) == 100
    assert found[0].id == first.id
    assert started.id


async def test_no_more_replays_are_open_whoever_starts_them(road: Postroad, dsn: str) -> None:
    made = await road.endpoints.create(HOOK)
    await road.publish("order.paid", 1)
    await road.cancel_all(made.queue)
    roads = [road]
    async with AsyncExitStack() as stack:
        if not isinstance(road.store, SqliteStore):  # no other process has a file
            another = Postroad(dsn, settings=Settings(webhooks=LOCAL))
            roads.append(await stack.enter_async_context(another))
        starts = [each.replays.start("all", endpoint=made.id) for each in roads * OPEN_MAX]
        extra = road.replays.start("all", endpoint=made.id)
        said = await asyncio.gather(extra, *starts, return_exceptions=True)
    refused = [one for one in said if isinstance(one, TenantFull)]
    assert len(said) - len(refused) == OPEN_MAX
    assert len((await road.replays.list()).replays) == OPEN_MAX


@pytest.mark.parametrize("guarded", [True, False])
async def test_a_start_waits_for_the_count_of_another_process(
    road: Postroad, dsn: str, monkeypatch: pytest.MonkeyPatch, *, guarded: bool
) -> None:
    """Another process has stored a replay and not committed it. Without the lock the start does not
    see it, and the tenant has one too many."""
    store = road.store
    if not isinstance(store, PostgresStore):  # no other process has a file
        return
    made = await road.endpoints.create(HOOK)
    await road.publish("order.paid", 1)
    await road.cancel_all(made.queue)
    _ = await road.replays.start("all", endpoint=made.id)
    (job,) = await store.replays_running()
    first, second = (replace(job, id=job.id + n, tenant="busy") for n in (1, 2))
    another = await dial(read_address(dsn))
    try:
        await another.execute("begin")
        await another.execute(QUERIES_OF_POSTGRES["replays_alone"], "busy")
        _ = await another.fetchval(QUERIES_OF_POSTGRES["replay_insert"], *insert_values(first, 1))
        if not guarded:
            monkeypatch.setitem(QUERIES_OF_POSTGRES, "replays_alone", "select $1::text")
        start = asyncio.ensure_future(store.replay_add(second, 1))
        while guarded and not await another.fetchval(WAITING):
            assert not start.done()
            await asyncio.sleep(0.02)
        stored = None if guarded else await start
        await another.execute("commit")
        assert (await start, stored) == ((False, None) if guarded else (True, True))
        open_now = await another.fetchval(
            "select count(*) from postroad.replay where tenant = 'busy'"
        )
        assert open_now == (1 if guarded else 2)
    finally:
        another.terminate()


async def _dead(road: Postroad, receiver: Receiver, count: int) -> str:
    made = await road.endpoints.create(receiver.url("/status/418"), reject=(418,))
    for number in range(count):
        await road.publish("order.paid", number)
    await road.run(until_idle=True)
    await road.endpoints.change(made.id, url=receiver.url("/status/200"))
    return made.id


async def test_recovering_is_a_replay_that_is_counted_paced_and_listed(
    road: Postroad, receiver: Receiver
) -> None:
    number = await _dead(road, receiver, 3)
    await road.endpoints.set_rules(drain="1/m")
    recover = partial(road.endpoints.recover, number, since=datetime(2020, 1, 1, tzinfo=UTC))
    counted = await recover(dry_run=True)
    assert (counted.messages, counted.replay) == (3, "")
    assert (await road.replays.list()).replays == ()
    begun = await recover()
    (job,) = (await road.replays.list()).replays
    assert (job.id, job.endpoint, job.total, job.rate) == (begun.replay, number, 3, "1/m")
    running = asyncio.create_task(road.run())
    while (await road.replays.get(job.id)).replayed < 1:
        await asyncio.sleep(0.02)
    await road.replays.cancel(job.id)
    road.stop()
    await running
    assert len((await road.dead.list()).messages) == 2
    await road.dead.purge(queue=f"endpoint:{number}")
    assert (await recover()).messages == 0
