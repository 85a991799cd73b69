"""Whoever locks several things takes them in one order, whatever it does: without that two of them
can wait for each other, and the server ends one."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.entities import DEFAULT_TENANT, Lane, LaneKey, Message, Policy, QueueSpec
from postroad.model.record import Record
from postroad.model.states import NEVER, DeadReason
from postroad.stores.postgres.connections import QUERIES
from tests.postgres.stepping import POOL, Stand, stand

Within = Callable[[Coroutine[Any, Any, Any]], Any]
SLOTS_FIRST = "perform from rung where id = any (p_order_groups) and order_group > 0 order by id for no key update;"

# Who stores a message of the same id waits for what becomes of this one.
SAME = "insert into postroad.message values ($1, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '')"


async def tried(on: Stand) -> Record:
    """What came of a message of an order group, and of one that expired meanwhile: nothing is left
    in its rung, which sleeps, and the result wakes it."""
    now_ms = on.store.clock.now_ms()
    await on.accept(on.one, replace(on.draft(), order_group=1))
    await on.accept(on.one, replace(on.draft(), expires_at_ms=now_ms))
    lane = await on.claim()
    found = {message.rung: message for message in await on.read()}
    in_order_group, expired = (found[rung] for rung in sorted(found))
    assert (await on.store.sweep(10)).expired == 1
    for paused in (True, False):
        await on.store.pause_queue(on.queue, paused=paused)
    (first,), (second,) = (
        on.result(lane, message, move).results
        for message, move in ((in_order_group, Move.deliver), (expired, Move.wait))
    )
    return Record(on.owner, [replace(first, order_group=1), second], [], [])


async def record_beside_an_enqueue(on: Stand, dsn: str) -> list[str]:
    """An enqueue has its position in the order group, and has not yet woken the rung, when a record comes."""
    record = await tried(on)
    ordered, plain = replace(on.draft(), order_group=1), on.draft()
    halt = await asyncpg.connect(dsn)
    try:
        halting = halt.transaction()
        await halting.start()
        await halt.execute(SAME, plain.id)
        enqueue = on.accept(on.one, ordered, plain)
        enqueuing = await on.waits_for_a_lock(on.one.get_server_pid(), enqueue)
        writing = on.record(on.two, record)
        recording = await on.waits_for_a_lock(on.two.get_server_pid(), writing)
        await halting.rollback()
        ends = await asyncio.gather(enqueuing, recording, return_exceptions=True)
    finally:
        halt.terminate()
    if any(isinstance(end, asyncpg.DeadlockDetectedError) for end in ends):
        return ["deadlock: the enqueue and the record waited for each other"]
    assert ends[1] == [True]
    assert {message.id for message in await on.read()} == {ordered.id, plain.id}
    return []


def test_a_record_and_an_enqueue_of_the_same_rungs_do_not_wait_for_each_other(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            assert await record_beside_an_enqueue(on, dsn) == []

    within(story())


def test_without_order_groups_first_they_do_and_the_server_ends_one(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await on.without("record_failed", SLOTS_FIRST)
            (breach,) = await record_beside_an_enqueue(on, dsn)
            assert breach.startswith("deadlock: ")

    within(story())


HEADS_FIRST = "perform from message where id = any (v_heads) order by id for no key update;"
SLOTS_TOGETHER = "perform from rung where id = any (v_rungs || v_order_groups) and order_group > 0 order by id for no key update;"
LANES_TOGETHER = """union all select r.lane_id from message m join rung r on r.id = m.rung_id
                                       where m.id = any (v_heads)"""
Beside = Callable[[Stand, "Fallen"], Coroutine[Any, Any, Any]]


class Fallen:
    """A head that holds its order group, one that is dead, and the lane of a third that is under way in
    the order_group of the dead one."""

    def __init__(self, lane: Lane, held: Message, dead: Message, under_way: Message) -> None:
        self.lane, self.held, self.dead, self.under_way = lane, held, dead, under_way


async def fallen(on: Stand) -> Fallen:
    """The order group of the one that is held is the older rung."""
    drafts = [replace(on.draft(), order_group=order_group) for order_group in (2, 1)]
    for draft in drafts:
        await on.accept(on.one, draft)
    lane = await on.claim()
    found = {message.id: message for message in await on.read()}
    held, dead = (found[draft.id] for draft in drafts)
    (holds,), (dies,) = (
        on.result(lane, message, move).results
        for message, move in ((held, Move.hold), (dead, Move.die))
    )
    dies = replace(dies, order_group=1, reason=DeadReason.exhausted)
    results = [replace(holds, order_group=2, due_ms=NEVER), dies]
    assert await on.record(on.one, Record(on.owner, results, [], [])) == [True]
    last = replace(on.draft(), order_group=1)
    await on.accept(on.one, last)
    (under_way,) = [message for message in await on.read() if message.id == last.id]
    return Fallen(lane, held, dead, under_way)


async def enqueue_to_both(on: Stand, _: Fallen) -> Any:
    return await on.accept(
        on.two, *[replace(on.draft(), order_group=order_group) for order_group in (2, 1)]
    )


async def late_success_of_the_head(on: Stand, found: Fallen) -> Any:
    """Of an older try of the head; with one of the other order group."""
    results = [
        replace(on.result(found.lane, message, Move.deliver).results[0], order_group=order_group)
        for message, order_group in ((found.held, 2), (found.under_way, 1))
    ]
    return await on.record(on.two, Record(on.owner, results, [], []))


async def replay_beside(on: Stand, dsn: str, other: Beside) -> list[str]:
    """A replay of both is about to store the dead one again when the other comes."""
    found = await fallen(on)
    halt = await asyncpg.connect(dsn)
    try:
        halting = halt.transaction()
        await halting.start()
        await halt.execute(SAME, found.dead.id)
        replay = replay_of(on, found.dead.id, found.held.id)
        replaying = await on.waits_for_a_lock(on.one.get_server_pid(), replay)
        waiting = await on.waits_for_a_lock(on.two.get_server_pid(), other(on, found))
        await halting.rollback()
        ends = await asyncio.gather(replaying, waiting, return_exceptions=True)
    finally:
        halt.terminate()
    if any(isinstance(end, asyncpg.DeadlockDetectedError) for end in ends):
        return ["deadlock: the replay and the other waited for each other"]
    assert not [end for end in ends if isinstance(end, BaseException)], ends
    assert found.dead.id in {message.id for message in await on.read()}
    return []


async def replay_of(on: Stand, *ids: int) -> Any:
    which = (DEFAULT_TENANT, None, None, None, 0, NEVER, list(ids), 10)
    return await on.one.fetchval(QUERIES["replay"], *which, False, False)


BESIDE = [
    (enqueue_to_both, "revive", SLOTS_TOGETHER),
    (late_success_of_the_head, "replay", HEADS_FIRST),
]


@pytest.mark.parametrize("other", [other for other, *_ in BESIDE])
def test_a_replay_of_dead_and_held_ones_waits_in_order(
    dsn: str, within: Within, other: Beside
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            assert await replay_beside(on, dsn, other) == []

    within(story())


@pytest.mark.parametrize(("other", "function", "guard"), BESIDE)
def test_a_replay_that_locks_one_after_the_other_ends_in_a_deadlock(
    dsn: str, within: Within, other: Beside, function: str, guard: str
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await on.without(function, guard)
            (breach,) = await replay_beside(on, dsn, other)
            assert breach.startswith("deadlock: ")

    within(story())


async def lanes_of_a_replay(on: Stand) -> list[str]:
    """The dead one is of a lane that comes after that of the head; both are asked for in order, as a
    record does that changes a queue."""
    spec = QueueSpec(DEFAULT_TENANT, "door://2/x", LaneKey(POOL, "2"), 1, Policy())
    (second,) = await on.store.open_queues([spec])
    found = await fallen(on)
    moved = "update postroad.dead set queue_id = $1, lane_id = $2"
    await on.one.execute(moved, second.id, second.lanes[0])
    lock = "select from postroad.lane where id = $1 for no key update"
    both = on.two.transaction()
    await both.start()
    await on.two.execute(lock, on.lane_id)
    replay = replay_of(on, found.dead.id, found.held.id)
    replaying = await on.waits_for_a_lock(on.one.get_server_pid(), replay)
    second_lock = on.two.execute(lock, second.lanes[0])
    ends: list[Any] = [*await asyncio.gather(second_lock, return_exceptions=True)]
    await (both.rollback() if isinstance(ends[0], BaseException) else both.commit())
    ends += await asyncio.gather(replaying, return_exceptions=True)
    if any(isinstance(end, asyncpg.DeadlockDetectedError) for end in ends):
        return ["deadlock: the replay and who has the lanes waited for each other"]
    assert not [end for end in ends if isinstance(end, BaseException)], ends
    return []


def test_a_replay_locks_all_its_lanes_in_order(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            assert await lanes_of_a_replay(on) == []

    within(story())


def test_a_replay_that_locks_lanes_one_after_the_other_ends_in_a_deadlock(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await on.without("replay", LANES_TOGETHER)
            (breach,) = await lanes_of_a_replay(on)
            assert breach.startswith("deadlock: ")

    within(story())
