"""Who sends while an unused queue is deleted loses nothing: stepped through by hand, with and
without the guards, and by roads that still know a queue that is gone."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

import asyncpg
import msgspec
import pytest

from postroad import Postroad
from postroad.model.decide import Move
from postroad.model.entities import DEFAULT_TENANT, LaneKey, Policy, QueueSpec
from postroad.model.unused import ASK_AGAIN_MS, DELETE_MOST, WALK_EVERY_MS, WALK_SLICE
from postroad.ports.clock import SystemClock, system_chance
from postroad.stores.postgres.connections import QUERIES
from postroad.stores.postgres.sending import insert_arrivals
from tests.postgres.drivers import DRIVERS
from tests.postgres.stepping import POOL, Connection, Stand, stand
from tests.rig.receivers import Receivers

Within = Callable[[Coroutine[Any, Any, Any]], Any]
Transaction = Callable[[str], AbstractAsyncContextManager[Any]]
TO = "sim://a/b"
Before = Callable[[Stand], Coroutine[Any, Any, None]]
UNUSED_MS = 86_400_000
ORPHANS = """
select (select count(*) from postroad.message m
         where not exists (select from postroad.rung r join postroad.queue q on q.id = r.queue_id
                            where r.id = m.rung_id))
     + (select count(*) from postroad.arrival a
         where not exists (select from postroad.queue q where q.id = a.queue_id))
     + (select count(*) from postroad.queue_lane ql
         where not exists (select from postroad.lane l where l.id = ql.lane_id))
"""
AGE = "update postroad.unused_queue set since = 0; update postroad.queue_walk set next_at = 0"


async def collect(by: Connection) -> int:
    values = (UNUSED_MS, WALK_EVERY_MS, ASK_AGAIN_MS, WALK_SLICE, DELETE_MOST)
    gone: int = msgspec.json.decode(await by.fetchval(QUERIES["collect"], *values))["gone"]
    return gone


async def long_unused(by: Connection) -> None:
    """Every queue that is unused now has been for long, and the next walk may begin."""
    await by.execute(AGE)
    assert await collect(by) == 0
    await by.execute(AGE)


async def used_once(on: Stand) -> None:
    """The queue has a rung, which is at rest."""
    await on.accept(on.one, on.draft())
    lane = await on.claim()
    (message,) = await on.read()
    await on.record(on.one, on.result(lane, message, Move.deliver))
    await on.release(on.one, lane)
    await long_unused(on.one)


async def never_used(on: Stand) -> None:
    """The queue has no rung."""
    await long_unused(on.one)


async def orphans(on: Stand) -> int:
    found: int = await on.one.fetchval(ORPHANS)
    return found


async def sends_beside_the_walk(on: Stand) -> int:
    """A message is stored, and not yet committed, when the walk comes; answers what was lost."""
    sending = on.one.transaction()
    await sending.start()
    await on.accept(on.one, on.draft())
    walk = await on.waits_for_a_lock(on.two.get_server_pid(), collect(on.two))
    await sending.commit()
    await walk
    return await orphans(on)


@pytest.mark.parametrize("before", [used_once, never_used])
def test_a_queue_that_is_being_sent_to_is_not_deleted(
    dsn: str, within: Within, before: Before
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await before(on)
            assert await sends_beside_the_walk(on) == 0
            assert len(await on.read()) == 1

    within(story())


def test_without_buckets_and_locks_its_first_message_would_be_lost(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await on.without("lock_for_deletion", "perform lock_exclusive(v_lanes);")
            await on.without("lock_for_deletion", " for update skip locked")
            await long_unused(on.one)
            assert await sends_beside_the_walk(on) == 1

    within(story())


@pytest.mark.parametrize("before", [used_once, never_used])
def test_who_sends_while_it_is_deleted_waits_and_is_told(
    dsn: str, within: Within, before: Before
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await before(on)
            walk = on.two.transaction()
            await walk.start()
            assert await collect(on.two) == 1
            accept = on.accept(on.one, on.draft())
            sending = await on.waits_for_a_lock(on.one.get_server_pid(), accept)
            await walk.commit()
            with pytest.raises(asyncpg.PostgresError) as told:
                await sending
            assert told.value.sqlstate == "PR002"
            assert await on.one.fetchval("select count(*) from postroad.message") == 0

    within(story())


def test_who_opens_it_while_it_is_deleted_gets_a_new_one(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await used_once(on)
            walk = on.two.transaction()
            await walk.start()
            assert await collect(on.two) == 1
            lane = LaneKey(POOL, "1")
            # One whose policy differs, and another queue on the lane that is about to go.
            specs = [
                QueueSpec(DEFAULT_TENANT, "door://1/x", lane, 1, Policy(ordered=True)),
                QueueSpec(DEFAULT_TENANT, "door://1/y", lane, 1, Policy()),
            ]
            opening = await on.waits_for_a_lock(on.store._side.pid, on.store.open_queues(specs))
            await walk.commit()
            new, other = await opening
            assert new.id > on.queue
            assert new.lanes == other.lanes
            assert await orphans(on) == 0

    within(story())


async def caller_beside_the_walk(on: Stand) -> int:
    """A caller's transaction has sent, and is open for long."""
    await used_once(on)
    calling = on.one.transaction()
    await calling.start()
    assert await insert_arrivals(on.one, [on.draft()], sure=False)
    await collect(on.two)  # it waits for nobody
    await calling.commit()
    return await orphans(on)


def test_what_a_callers_open_transaction_has_sent_keeps_its_queue(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            assert await caller_beside_the_walk(on) == 0

    within(story())


def test_without_the_callers_buckets_it_would_have_none(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            lock = "perform pg_advisory_xact_lock_shared(1383031141, x.bucket)"
            await on.without("arrive", lock, "perform x.bucket")
            assert await caller_beside_the_walk(on) == 1

    within(story())


def test_one_in_use_is_told_by_the_look_of_its_rungs_alone(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await used_once(on)
            await on.one.execute(AGE)
            await used_again(on)
            assert await collect(on.two) == 0
            await on.without("collect_unused", "where s.look <> excluded.look", "where false")
            await on.without("delete_unused", "and s.look = u.look ")
            await on.one.execute(AGE)
            await used_again(on)
            assert await collect(on.two) == 1

    within(story())


async def used_again(on: Stand) -> None:
    await on.accept(on.one, on.draft())
    lane = await on.claim()
    (message,) = await on.read()
    await on.record(on.one, on.result(lane, message, Move.deliver))
    await on.release(on.one, lane)


class Shop:
    """A road to one recipient, who notes the bodies that come."""

    def __init__(self, dsn: str) -> None:
        clock = SystemClock()
        self.book = Receivers(clock.now_ms, system_chance().random)
        self.road = Postroad(dsn, transports=[self.book])

    async def delivered(self) -> list[object]:
        await self.road.run(until_idle=True)
        came, self.book.book[:] = (
            [msgspec.json.decode(receipt.body) for receipt in self.book.book],
            [],
        )
        return came


async def delete_all(dsn: str) -> None:
    raw = await asyncpg.connect(dsn)
    await long_unused(raw)
    assert await collect(raw) == 1
    assert await raw.fetchval("select count(*) from postroad.lane") == 0
    await raw.close()


def test_two_processes_that_know_one_that_is_gone_send_on(dsn: str, within: Within) -> None:
    async def story() -> None:
        one, two = Shop(dsn), Shop(dsn)
        async with one.road, two.road:
            for number in range(2):
                await one.road.send(TO, ["one", number])
                await two.road.send(TO, ["two", number])
                assert len(await one.delivered()) == 2
                await delete_all(dsn)
            sent = await asyncio.gather(
                *(one.road.send(TO, n) for n in range(5)),
                *(two.road.send(TO, n) for n in range(5, 10)),
                two.road.send_many([(TO, 10), (TO, 11)]),
            )
            assert len(sent) == 11
            assert sorted(map(int, map(str, await one.delivered()))) == list(range(12))
            assert await orphans_of(dsn) == 0

    within(story())


async def orphans_of(dsn: str) -> int:
    raw = await asyncpg.connect(dsn)
    found: int = await raw.fetchval(ORPHANS)
    await raw.close()
    return found


@pytest.mark.parametrize("transaction", DRIVERS)
def test_a_callers_transaction_sends_to_one_that_is_gone(
    dsn: str, within: Within, transaction: Transaction
) -> None:
    async def story() -> None:
        shop = Shop(dsn)
        async with shop.road:
            await shop.road.send(TO, "before")
            assert await shop.delivered() == ["before"]
            await delete_all(dsn)
            async with transaction(dsn) as own:
                await shop.road.send_in(own, TO, "after")
            assert await shop.delivered() == ["after"]

    within(story())


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
def test_a_transaction_that_sees_the_past_sends_to_a_queue_that_is_newer(
    dsn: str, within: Within, isolation: Any
) -> None:
    async def story() -> None:
        shop = Shop(dsn)
        async with shop.road:
            raw = await asyncpg.connect(dsn)
            async with raw.transaction(isolation=isolation):
                await raw.fetchval("select count(*) from postroad.queue")  # it sees no queue
                await shop.road.send_in(raw, TO, "first")
                await shop.road.send_in(raw, TO, "second")
            assert sorted(map(str, await shop.delivered())) == ["first", "second"]
            await shop.road.send(TO, "known")
            assert await shop.delivered() == ["known"]
            # It sees one that is deleted since: it must not send into nothing.
            with pytest.raises(asyncpg.SerializationError):
                async with raw.transaction(isolation=isolation):
                    await raw.fetchval("select count(*) from postroad.queue")
                    await delete_all(dsn)
                    await shop.road.send_in(raw, TO, "third")
            await raw.close()
            assert await orphans_of(dsn) == 0

    within(story())
