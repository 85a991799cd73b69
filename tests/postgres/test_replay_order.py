"""A replay waits for what others have in the order in which they take it: lanes, messages, the dead,
rungs, and then all lane levels at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import msgspec
import pytest
from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.entities import DEFAULT_TENANT, LaneKey, Policy, QueueSpec
from postroad.model.record import QueueChange, Record
from tests.postgres.stepping import POOL, Connection, Stand, stand
from tests.postgres.test_lock_order import HEADS_FIRST, Fallen, fallen, replay_of

Within = Callable[[Coroutine[Any, Any, Any]], Any]
Story = Callable[[Stand, str], Coroutine[Any, Any, list[str]]]


@asynccontextmanager
async def halted(dsn: str, lock: str, *values: object) -> AsyncIterator[Connection]:
    """Somebody has this lock; a rollback lets go of it."""
    halt = await asyncpg.connect(dsn)
    try:
        await halt.execute("begin")
        await halt.execute(lock, *values)
        yield halt
    finally:
        halt.terminate()


async def ends_of(*tasks: "asyncio.Future[Any]") -> list[str]:
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    if any(isinstance(end, asyncpg.DeadlockDetectedError) for end in ends):
        return ["deadlock: the replay and the other waited for each other"]
    assert not [end for end in ends if isinstance(end, BaseException)], ends
    return []


def delivered(on: Stand, found: Fallen, *order_groups: int) -> Record:
    """Late successes of the head (order group 2) and of the dead one (order group 1)."""
    messages = {1: found.dead, 2: found.held}
    results = [
        replace(
            on.result(found.lane, messages[order_group], Move.deliver).results[0],
            order_group=order_group,
        )
        for order_group in order_groups
    ]
    return Record(on.owner, results, [], [])


async def beside_a_record_that_has_the_lane_alone(on: Stand, dsn: str) -> list[str]:
    """It changes the queue's block, and has a late success of what is replayed."""
    found = await fallen(on)
    change = QueueChange(on.queue, on.lane_id, found.lane.epoch, None)
    record = replace(delivered(on, found, 1), queues=[change])
    bucket = "select pg_advisory_xact_lock_shared(1383031140, $1)"
    async with halted(dsn, bucket, on.lane_id & 63) as halt:
        writing = on.record(on.two, record)
        recording = await on.waits_for_a_lock(on.two.get_server_pid(), writing)
        replay = replay_of(on, found.dead.id)
        replaying = await on.waits_for_a_lock(on.one.get_server_pid(), replay)
        await halt.execute("rollback")
        return await ends_of(recording, replaying)


async def beside_late_successes_of_both(on: Stand, dsn: str) -> list[str]:
    """Of the head and of the dead one that are replayed."""
    found = await fallen(on)
    head = "select from postroad.message where id = $1 for update"
    async with halted(dsn, head, found.held.id) as halt:
        writing = on.record(on.two, delivered(on, found, 2, 1))
        recording = await on.waits_for_a_lock(on.two.get_server_pid(), writing)
        replay = replay_of(on, found.dead.id, found.held.id)
        replaying = await on.waits_for_a_lock(on.one.get_server_pid(), replay)
        await halt.execute("rollback")
        return await ends_of(recording, replaying)


async def beside_an_enqueue_to_both_lanes(on: Stand, dsn: str) -> list[str]:
    """The head is of a lane before that of the dead one; both lanes are nobody's. The replay makes a
    stop between the two, which it does not make otherwise."""
    spec = QueueSpec(DEFAULT_TENANT, "door://2/x", LaneKey(POOL, "2"), 1, Policy())
    (second,) = await on.store.open_queues([spec])
    found = await fallen(on)
    moved = "update postroad.dead set queue_id = $1, lane_id = $2, order_group = 0"
    await on.one.execute(moved, second.id, second.lanes[0])
    await on.release(on.one, found.lane)
    then = "update message m\n     set due = v_now"
    await on.without("release_heads", then, f"perform pg_advisory_xact_lock(77); {then}")
    drafts = [
        replace(on.draft(), queue=queue, lane=lane, priority=1)
        for queue, lane in ((on.queue, on.lane_id), (second.id, second.lanes[0]))
    ]
    async with halted(dsn, "select pg_advisory_xact_lock(77)") as halt:
        replay = replay_of(on, found.dead.id, found.held.id)
        replaying = await on.waits_for_a_lock(on.one.get_server_pid(), replay)
        enqueue = on.accept(on.two, *drafts)
        enqueuing = await on.waits_for_a_lock(on.two.get_server_pid(), enqueue)
        await halt.execute("rollback")
        return await ends_of(enqueuing, replaying)


LANES_FIRST = "perform lock_shared(array(select lane_id from dead where id = any (v_dead)));"
DEAD_FIRST = f"perform from dead where id = any (v_dead) order by id for update; {LANES_FIRST}"
LEVELS_TOGETHER = """perform from lane_level
    where lane_id = any (r_lane || array(select lane_id from rung where id = any (v_order_groups)))
    order by lane_id, level for no key update;"""
STORIES: list[tuple[Story, str, str, str]] = [
    (beside_a_record_that_has_the_lane_alone, "replay", LANES_FIRST, DEAD_FIRST),
    (beside_late_successes_of_both, "replay", HEADS_FIRST, ""),
    (beside_an_enqueue_to_both_lanes, "revive", LEVELS_TOGETHER, ""),
]


@pytest.mark.parametrize("story", [story for story, *_ in STORIES])
def test_a_replay_waits_for_others_in_order(dsn: str, within: Within, story: Story) -> None:
    async def run() -> None:
        async with stand(dsn) as on:
            assert await story(on, dsn) == []

    within(run())


@pytest.mark.parametrize(("story", "function", "guard", "instead"), STORIES)
def test_a_replay_that_takes_them_out_of_order_ends_in_a_deadlock(
    dsn: str, within: Within, story: Story, function: str, guard: str, instead: str
) -> None:
    async def run() -> None:
        async with stand(dsn) as on:
            await on.without(function, guard, instead)
            (breach,) = await story(on, dsn)
            assert breach.startswith("deadlock: ")

    within(run())


def test_what_is_delivered_while_a_replay_waits_for_it_is_refused(dsn: str, within: Within) -> None:
    """It was found dead, and is not any more when it could be locked."""

    async def run() -> None:
        async with stand(dsn) as on:
            found = await fallen(on)
            bucket = "select pg_advisory_xact_lock(1383031140, $1)"
            async with halted(dsn, bucket, on.lane_id & 63) as halt:
                replay = replay_of(on, found.dead.id)
                replaying = await on.waits_for_a_lock(on.one.get_server_pid(), replay)
                assert await on.record(on.two, delivered(on, found, 1)) == [True]
                await halt.execute("rollback")
                said = msgspec.json.decode(await replaying)
            assert (said["refused"], said["state"]) == (found.dead.id, "delivered")
            assert found.dead.id not in {message.id for message in await on.read()}

    within(run())
