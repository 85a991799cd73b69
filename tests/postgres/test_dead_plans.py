"""What a look for dead messages reads on PostgreSQL, however many of other tenants lie beside them."""

from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg
import msgspec
import pytest

Within = Callable[[Coroutine[Any, Any, Any]], Any]
QUEUES = """
insert into postroad.queue (tenant, name, transport, policy)
select 't' || n, 'q', 'web', '{"ladder": {"retries": 3}}' from generate_series(1, 50) n;
"""
DEAD = """
insert into postroad.dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at, priority, order_group,
                           order_key, error, status, headers, body)
select $1::bigint + n, $2::bigint + n % $3::int, 1, 'exhausted', n, 0, 1, n, 0, 0, '', 'no', 0, '', '1'
  from generate_series(1, $4::int) n
"""
LOOK = """
explain (analyze, buffers, format json)
select postroad.replay('t1', {queue}, null, null, 0, 4611686018427387904, null, 100, false, true)
"""


async def blocks(raw: "asyncpg.Connection[asyncpg.Record]", queue: str) -> int:
    """Pages of memory that a look reads; the plans are made before."""
    sql = LOOK.format(queue=queue)
    _ = await raw.fetchval(sql)  # makes the plans
    plan = msgspec.json.decode(await raw.fetchval(sql))[0]["Plan"]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


@pytest.mark.parametrize("queue", ["'q'", "null"])
def test_the_dead_of_others_are_not_read(dsn: str, within: Within, queue: str) -> None:
    async def story() -> None:
        raw = await asyncpg.connect(dsn)
        try:
            await raw.execute(QUEUES)
            await raw.execute(DEAD, 1_000_000, 1, 1, 10)
            few = await blocks(raw, queue)
            await raw.execute(DEAD, 0, 2, 49, 20_000)
            await raw.execute("analyze postroad.dead")
            assert await blocks(raw, queue) <= 2 * few + 20
        finally:
            await raw.close()

    within(story())
