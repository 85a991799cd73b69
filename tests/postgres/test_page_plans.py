"""What the counts and the trouble of pages read on PostgreSQL, however much lies beside it."""

from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg
import msgspec
import pytest

Within = Callable[[Coroutine[Any, Any, Any]], Any]
LANES = """
insert into postroad.lane (tenant, transport, server, credential, shard, pool, paused_at)
select 'default', 'web', 's' || n, '', 0, 'web', case when n % 1000 = 7 then 1 else 0 end
  from generate_series($1::int, $2::int) n
"""
QUEUES = """
insert into postroad.queue (tenant, name, transport, policy, paused_at)
select 'default', 'q' || n, 'web', '{}', case when n % 1000 = 7 then 1 else 0 end
  from generate_series($1::int, $2::int) n
"""
RUNGS = """
insert into postroad.rung (lane_id, queue_id, level, priority, order_group)
select n, n, 0, 0, 0 from generate_series($1::int, $2::int) n
"""
MESSAGES = """
insert into postroad.message (id, rung_id, place, due, level, accepted_at, expires_at, headers, body)
select n * 10 + k, n, 1, 1, 0, 1, 4611686018427387904, '', '1'
  from generate_series($1::int, $2::int) n, generate_series(1, 10) k
"""
ASKED = {
    "counts": "select * from postroad.messages_looked_up('default', 5, 20, 100)",
    "lanes": "select id from postroad.lane where tenant = 'default' and id > 0 "
    "and (circuit_opened > 0 or paused_at > 0) order by id limit 50",
    "queues": "select id from postroad.queue where tenant = 'default' and name > '' "
    "and (block_kind <> '' or paused_at > 0) order by name limit 50",
}


@pytest.mark.parametrize("name", ASKED)
def test_a_page_reads_what_it_shows_and_not_the_tables(name: str, dsn: str, within: Within) -> None:
    within(story(dsn, ASKED[name]))


async def story(dsn: str, sql: str) -> None:
    raw = await asyncpg.connect(dsn)
    try:
        few = await filled(raw, 1, 100, sql)
        many = await filled(raw, 101, 4_000, sql)
        assert many < 3 * few + 200, (few, many)  # of forty times as many
    finally:
        await raw.close()


async def filled(raw: "asyncpg.Connection[asyncpg.Record]", first: int, last: int, sql: str) -> int:
    """Add so many of all; pages of memory that the statement looks at then."""
    for each in (LANES, QUEUES, RUNGS, MESSAGES):
        await raw.execute(each, first, last)
    await raw.execute("analyze postroad.lane, postroad.queue, postroad.rung, postroad.message")
    asked = f"explain (analyze, buffers, format json) {sql}"
    _ = await raw.fetchval(asked)  # makes the plans
    plan = msgspec.json.decode(await raw.fetchval(asked))[0]["Plan"]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])
