"""Who locks several rungs locks ordered slots first, whatever it does: without that two of them can
wait for each other, and the server ends one."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg
from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.record import Record
from tests.postgres.stepping import Stand, stand

Within = Callable[[Coroutine[Any, Any, Any]], Any]
SLOTS_FIRST = (
    "perform from rung where id = any (p_slots) and slot > 0 order by id for no key update;"
)

# Who stores a message of the same id waits for what becomes of this one.
SAME = "insert into postroad.message values ($1, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '')"


async def tried(on: Stand) -> Record:
    """What came of a message of an ordered slot, and of one that expired meanwhile: nothing is left
    in its rung, which sleeps, and the result wakes it."""
    now_ms = on.store.clock.now_ms()
    await on.accept(on.one, replace(on.draft(), slot=1))
    await on.accept(on.one, replace(on.draft(), expires_at_ms=now_ms))
    lane = await on.claim()
    found = {message.rung: message for message in await on.read()}
    in_slot, expired = (found[rung] for rung in sorted(found))
    assert (await on.store.sweep(10)).expired == 1
    for paused in (True, False):
        await on.store.pause_queue(on.queue, paused=paused)
    (first,), (second,) = (
        on.result(lane, message, move).results
        for message, move in ((in_slot, Move.deliver), (expired, Move.wait))
    )
    return Record(on.owner, [replace(first, slot=1), second], [], [])


async def record_beside_an_enqueue(on: Stand, dsn: str) -> list[str]:
    """An enqueue has its position in the slot, and has not yet woken the rung, when a record comes."""
    record = await tried(on)
    ordered, plain = replace(on.draft(), slot=1), on.draft()
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


def test_without_slots_first_they_do_and_the_server_ends_one(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await on.without("fail_v2", SLOTS_FIRST)
            (breach,) = await record_beside_an_enqueue(on, dsn)
            assert breach.startswith("deadlock: ")

    within(story())
