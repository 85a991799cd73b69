"""Whoever takes dead messages takes them in one order, by id, whichever died first: without that two of
them can wait for each other, and the server ends one."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.entities import DEFAULT_TENANT, Lane, Message
from postroad.model.record import Record
from postroad.model.rollup import KEPT_MS
from postroad.model.states import NEVER, DeadReason
from postroad.stores.postgres.connections import QUERIES
from tests.postgres.stepping import Stand, stand
from tests.postgres.test_lock_order import replay_of
from tests.postgres.test_replay_order import ends_of, halted

Within = Callable[[Coroutine[Any, Any, Any]], Any]
Forget = Callable[[Stand], Coroutine[Any, Any, Any]]
Beside = Callable[[Stand, Lane, list[Message]], Coroutine[Any, Any, Any]]


async def three_dead(on: Stand) -> tuple[Lane, list[Message]]:
    """By id; they died the other way round, and so they lie in the table."""
    await on.accept(on.one, *[on.draft() for _ in range(3)])
    lane = await on.claim()
    messages = sorted(await on.read(), key=lambda message: message.id)
    results = [
        replace(on.result(lane, message, Move.die).results[0], reason=DeadReason.exhausted)
        for message in messages
    ]
    assert await on.record(on.one, Record(on.owner, results, [], [])) == [True]
    for days, message in enumerate(reversed(messages)):
        longer = "update postroad.dead set died_at = died_at - $1 where id = $2"
        await on.one.execute(longer, (9 - days) * 86_400_000, message.id)
    return lane, messages


async def purge(on: Stand) -> Any:
    which = (DEFAULT_TENANT, None, None, None, 0, NEVER, None, 10)
    return await on.two.fetchval(QUERIES["purge"], *which, False)


async def trim(on: Stand) -> Any:
    return await on.two.fetchval(QUERIES["trim"], 0, 10)


async def retain(on: Stand) -> Any:
    await on.two.execute("alter function postroad.retain set lock_timeout = 0")
    return await on.two.fetchval(QUERIES["retain"], 86_400_000, 1, 10, *KEPT_MS.values())


async def replay(on: Stand, _: Lane, dead: list[Message]) -> Any:
    return await replay_of(on, *[message.id for message in dead])


async def late_successes(on: Stand, lane: Lane, dead: list[Message]) -> Any:
    """The server may look for them along the table."""
    await on.one.execute("set enable_indexscan = off")
    results = [on.result(lane, message, Move.deliver).results[0] for message in dead]
    return await on.record(on.one, Record(on.owner, results, [], []))


async def story(on: Stand, dsn: str, forget: Forget, beside: Beside) -> list[str]:
    """Somebody has the one in the middle, for which both wait with what they have by then."""
    lane, dead = await three_dead(on)
    lock = "select from postroad.dead where id = $1 for update"
    async with halted(dsn, lock, dead[1].id) as halt:
        forgetting = await on.waits_for_a_lock(on.two.get_server_pid(), forget(on))
        other = await on.waits_for_a_lock(on.one.get_server_pid(), beside(on, lane, dead))
        await halt.execute("rollback")
        return await ends_of(forgetting, other)


@pytest.mark.parametrize("beside", [replay, late_successes])
@pytest.mark.parametrize("forget", [purge, trim, retain])
def test_who_forgets_the_dead_waits_for_others_in_order(
    dsn: str, within: Within, forget: Forget, beside: Beside
) -> None:
    async def run() -> None:
        async with stand(dsn) as on:
            assert await story(on, dsn, forget, beside) == []

    within(run())


UNORDERED = ("lock_dead", "order by id for update", "order by died_at for update")
AS_THEY_LIE = ("record_delivered", "perform lock_dead(p_done);", "")


@pytest.mark.parametrize(
    ("forget", "beside", "guard"),
    [
        (purge, replay, UNORDERED),
        (trim, replay, UNORDERED),
        (retain, replay, UNORDERED),
        (purge, late_successes, AS_THEY_LIE),
    ],
)
def test_who_takes_them_as_they_died_or_as_they_lie_ends_in_a_deadlock(
    dsn: str, within: Within, forget: Forget, beside: Beside, guard: tuple[str, str, str]
) -> None:
    async def run() -> None:
        async with stand(dsn) as on:
            await on.without(*guard)
            (breach,) = await story(on, dsn, forget, beside)
            assert breach.startswith("deadlock: ")

    within(run())
