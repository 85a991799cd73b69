"""Processes that add figures to the same buckets at the same time."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from postroad.model.outcome import Kind
from postroad.model.rollup import KINDS, WIDTH, GroupBy, Rollup, Span, Step
from postroad.ports.clock import SystemClock
from postroad.stores.postgres.store import PostgresStore
from tests.servers.postgres import PrivatePostgres

NAMES = [f"handler:{n}" for n in range(40)]
TURNS = 30
DEADLOCKS = """
select pg_stat_force_next_flush(), deadlocks from pg_stat_database where datname = current_database()
"""


def test_two_processes_add_to_the_same_rows_without_a_deadlock(
    server: PrivatePostgres, dsn: str, within: Callable[[Any], Any]
) -> None:
    """Each in an order of its own; the statement sorts them."""
    counts = [0] * WIDTH
    counts[KINDS.index(Kind.delivered)] = 1

    async def add(store: PostgresStore, dice: random.Random) -> None:
        for _ in range(TURNS):
            names = dice.sample(NAMES, len(NAMES))
            rows = [Rollup(Step.hour, 0, "t", name, "q", counts) for name in names]
            await store.add_rollups(rows)

    async def story() -> None:
        stores = [PostgresStore(dsn, SystemClock()) for _ in range(2)]
        for store in stores:
            await store.open()
        await asyncio.gather(*(add(store, random.Random(n)) for n, store in enumerate(stores)))
        span = Span(Step.hour, 0, 1, GroupBy.family, "t", 50)
        found = {point.name: point.tries["delivered"] for point in await stores[0].rollups(span)}
        assert found == dict.fromkeys(NAMES, 2 * TURNS)
        for store in stores:
            await store.close()

    within(story())
    assert server.sql(DEADLOCKS, dsn.rpartition("/")[2]).rpartition("|")[2].strip() == "0"
