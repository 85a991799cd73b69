"""The park race and the zombie, stepped through by hand: without its guard the checker names the
breach, with it there is none."""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.entities import Lane, Message
from postroad.stores.postgres.connections import QUERIES
from tests.postgres.stepping import LEVELS, POOL, Stand, stand

Within = Callable[[Coroutine[Any, Any, Any]], Any]
BUCKETS = [
    ("lock_shared", "pg_advisory_xact_lock_shared"),
    ("lock_exclusive", "pg_advisory_xact_lock"),
]


async def unguarded(on: Stand) -> None:
    """Who adds messages and who parks a lane do not wait for each other."""
    for function, lock in BUCKETS:
        await on.without(function, f"{lock}(1383031140, x.bucket)", "x.bucket")


async def emptied(on: Stand) -> Lane:
    """An owner has delivered all there was, and its lane's rung still looks awake."""
    await on.accept(on.one, on.draft())
    lane = await on.claim()
    (message,) = await on.read()
    await on.record(on.one, on.result(lane, message, Move.deliver))
    return lane


async def park_beside_an_enqueue(on: Stand, *, guarded: bool) -> list[str]:
    """The owner parks while a message is stored and not yet committed."""
    lane = await emptied(on)
    enqueue = on.one.transaction()
    await enqueue.start()
    await on.accept(on.one, on.draft())
    if guarded:
        parking = await on.waits_for_a_lock(on.two.get_server_pid(), on.release(on.two, lane))
        await enqueue.commit()
        await parking
    else:
        await on.release(on.two, lane)
        await enqueue.commit()
    return await on.check_sleepers()


async def enqueue_beside_a_park(on: Stand, *, guarded: bool) -> list[str]:
    """A message comes while the owner's parking is not yet committed."""
    lane = await emptied(on)
    park = on.two.transaction()
    await park.start()
    await on.release(on.two, lane)
    if guarded:
        sending = await on.waits_for_a_lock(on.one.get_server_pid(), on.accept(on.one, on.draft()))
        await park.commit()
        await sending
    else:
        await on.accept(on.one, on.draft())
        await park.commit()
    return await on.check_sleepers()


async def claim_beside_an_enqueue(on: Stand, *, guarded: bool) -> list[str]:
    """A lane that is awake is claimed and read while a message is stored and not yet committed:
    its new owner has to find it, or to be told."""
    await on.accept(on.one, on.draft())
    enqueue = on.one.transaction()
    await enqueue.start()
    late = on.draft()
    told = await on.accept(on.one, late)
    if guarded:
        claiming = await on.waits_for_a_lock(on.store._side.pid, on.claim())
        await enqueue.commit()
        await claiming
        found = await on.read()
    else:
        await on.claim()
        found = await on.read()
        await enqueue.commit()
    heard = [ring for ring in told["rings"] if ring[0] == on.owner]
    if late.id not in {message.id for message in found} and not heard:
        return [f"asleep: {late.id} came after its lane was read, and its owner is not told"]
    return []


@pytest.mark.parametrize(
    "race", [park_beside_an_enqueue, enqueue_beside_a_park, claim_beside_an_enqueue]
)
def test_a_message_that_meets_a_change_of_owner_does_not_sleep(
    dsn: str, within: Within, race: Callable[..., Coroutine[Any, Any, list[str]]]
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            assert await race(on, guarded=True) == []
            assert {m.id for m in await on.read()} != set()

    within(story())


@pytest.mark.parametrize(
    "race", [park_beside_an_enqueue, enqueue_beside_a_park, claim_beside_an_enqueue]
)
def test_without_the_buckets_it_sleeps_and_the_checker_says_so(
    dsn: str, within: Within, race: Callable[..., Coroutine[Any, Any, list[str]]]
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await unguarded(on)
            (breach,) = await race(on, guarded=False)
            assert breach.startswith("asleep: ")

    within(story())


async def zombie(on: Stand) -> tuple[Lane, Message]:
    """An owner in the middle of a try, silent for too long."""
    await on.accept(on.one, on.draft())
    lane = await on.claim()
    (message,) = await on.read()
    await on.one.execute("update postroad.process set beat_at = 0")
    return lane, message


async def late_after_a_takeover(on: Stand) -> list[str]:
    """Its failure comes when the lane has a new owner."""
    lane, message = await zombie(on)
    await on.store.reap(30_000)
    heir = await on.store.join()
    (taken,) = (await on.store.claim(heir, LEVELS, [POOL], 10)).lanes
    assert taken.epoch > lane.epoch
    await on.record(on.two, on.result(lane, message, Move.climb))
    return await on.check_fence(lane, message)


async def late_during_a_takeover(on: Stand, *, guarded: bool) -> list[str]:
    """Its failure comes while the takeover is not yet committed."""
    lane, message = await zombie(on)
    takeover = on.one.transaction()
    await takeover.start()
    await on.one.fetchval("select postroad.reap(30000)")
    await on.one.execute("update postroad.lane set owner = 77, epoch = epoch + 1")  # its heir
    failure = on.result(lane, message, Move.climb)
    if guarded:
        failing = await on.waits_for_a_lock(on.two.get_server_pid(), on.record(on.two, failure))
        await takeover.commit()
        assert await failing == [False]
    else:
        await on.record(on.two, failure)
        await takeover.commit()
    return await on.check_fence(lane, message)


def test_a_zombies_failure_changes_nothing(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            assert await late_after_a_takeover(on) == []

    within(story())


def test_a_zombies_failure_during_the_takeover_changes_nothing(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            assert await late_during_a_takeover(on, guarded=True) == []

    within(story())


def test_without_the_epoch_the_zombie_is_believed_and_the_checker_says_so(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            fence = "select l.epoch = x.epoch from lane l where l.id = x.lane and l.owner = p_owner"
            await on.without("record", fence, "select true")
            (breach,) = await late_after_a_takeover(on)
            assert breach.startswith("fence: a late failure of epoch 1 changed message")

    within(story())


def test_without_the_lock_the_zombie_slips_in_and_the_checker_says_so(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            lock = "perform from lane where id = any (p_lane) order by id for share;"
            await on.without("record", lock)
            (breach,) = await late_during_a_takeover(on, guarded=False)
            assert breach.startswith("fence: a late failure of epoch 1 changed message")

    within(story())


async def sweep_beside_a_record(on: Stand) -> int:
    """A message expires while a record has its lane alone; answers how many the sweep took."""
    await on.accept(on.one, replace(on.draft(), expires_at_ms=on.store.clock.now_ms()))
    lane = await on.claim()
    (message,) = await on.read()
    record = on.one.transaction()
    await record.start()
    await on.one.execute("select from postroad.lane for no key update")  # it changes a block
    sweep = on.two.fetchval(QUERIES["sweep"], 10)
    sweeping = await on.waits_for_a_lock(on.two.get_server_pid(), sweep)
    assert await on.record(on.one, on.result(lane, message, Move.deliver)) == [True]
    await record.commit()
    expired: int = msgspec.json.decode(await sweeping)["expired"]
    return expired


def test_a_sweep_that_waits_for_a_lane_holds_up_no_record_of_it(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            assert await sweep_beside_a_record(on) == 0

    within(story())


def test_the_sweep_does_not_spin_while_what_expired_is_being_written(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            now_ms = on.store.clock.now_ms()
            draft = replace(on.draft(), due_ms=now_ms - 2_000, expires_at_ms=now_ms - 1_000)
            await on.accept(on.one, draft)
            writing = on.one.transaction()
            await writing.start()
            await on.one.execute("select from postroad.message for update")
            swept = await on.store.sweep(10)
            assert swept.expired == 0
            assert swept.next_at_ms >= now_ms + 1_000
            await writing.rollback()
            assert (await on.store.sweep(10)).expired == 1

    within(story())
