"""Processes that start at the same moment hear of each other."""

from collections.abc import Callable, Coroutine
from typing import Any

from postroad.stores.postgres.connections import QUERIES
from tests.postgres.stepping import LEVELS, POOL, Connection, Stand, stand

Within = Callable[[Coroutine[Any, Any, Any]], Any]
GUARD = "perform pg_advisory_xact_lock(1383031140, 68);"


async def ask(by: Connection, owner: int) -> None:
    """A process asks for lanes for the first time."""
    who = (owner, 0, 0, "here", owner)
    await by.fetchval(QUERIES["claim"], *who, list(LEVELS), [0] * len(LEVELS), [POOL], 10, [], "")


async def asked_together(on: Stand) -> list[str]:
    """One takes all there is; a second one asks before that is committed."""
    second = await on.store.join()
    await on.accept(on.one, on.draft())
    heard: list[object] = []
    await on.two.add_listener("postroad", lambda *said: heard.append(said[3]))
    await on.two.fetchval("select 1")  # of the message, they have been told
    heard.clear()
    first = on.one.transaction()
    await first.start()
    await ask(on.one, on.owner)
    asking = await on.waits_for_a_lock(on.two.get_server_pid(), ask(on.two, second))
    await first.commit()
    await asking
    await on.two.fetchval("select 1")
    return [] if heard else [f"{on.owner} is not told that {second} would take its share"]


def test_who_took_all_lanes_is_told_of_one_who_asked_meanwhile(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            assert await asked_together(on) == []

    within(story())


def test_without_the_lock_neither_knows_of_the_other(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with stand(dsn) as on:
            await on.without("fair_share", GUARD)
            (breach,) = await asked_together(on)
            assert "is not told" in breach

    within(story())
