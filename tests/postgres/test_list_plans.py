"""What a page of messages reads on PostgreSQL, however much lies beside it."""

from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg
import msgspec

from postroad.model.ids import EPOCH_MS

Within = Callable[[Coroutine[Any, Any, Any]], Any]
START_MS = EPOCH_MS + 1_000_000_000
QUEUES = """
insert into postroad.lane (tenant, transport, server, credential, shard, pool)
select 'default', 'web', 's' || n, '', 0, 'web' from generate_series(1, 50) n;
insert into postroad.queue (tenant, name, transport, policy)
select 'default', 'q' || n, 'web', '{}' from generate_series(1, 50) n;
insert into postroad.rung (lane_id, queue_id, level, priority, order_group)
select n, n, 0, 0, 0 from generate_series(1, 50) n;
"""
WAITING = """
insert into postroad.message (id, rung_id, place, due, level, accepted_at, expires_at, headers, body)
select ((t - {epoch}) << 22) | $4, 1 + n % $3::int, t, t, 0, t, 4611686018427387904, '', '1'
  from (select n, $1::bigint + n * 50 as t from generate_series(1, $2::int) n) z
"""
ALONE = """
insert into postroad.history_batch (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
select ((t - {epoch}) << 22) | $4, 1 + n % $3::int, 'delivered', t, t + 5, 0, 1, 5
  from (select n, $1::bigint + n * 50 as t from generate_series(1, $2::int) n) z
"""
TOGETHER = """
insert into postroad.history_batch (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms, ids, queues)
select min(id), min(q), 'delivered', min(t), min(t) + 5, 0, 1, 5, array_agg((id & 268435455)::int), array_agg(q)
  from (select b, ((t - {epoch}) << 22) | (k << 13) | $4 as id, (1 + (b + k) % $3::int)::bigint as q, t
          from (select b, ($1::bigint + b * 640) >> 6 << 6 as t from generate_series(1, $2::int / 10) b) z,
               generate_series(1, 10) k) y
 group by b
"""
PAGE = """
explain (analyze, buffers, format json)
select * from postroad.list_messages(array[{queue}], array[{queue}], array['message', 'dead', 'history'],
                                     0, 9223372036854775807, {newest}, 51)
"""


async def fill(
    raw: "asyncpg.Connection[asyncpg.Record]", count: int, queues: int, node: int
) -> None:
    for sql in (WAITING, ALONE, TOGETHER):
        await raw.execute(sql.replace("{epoch}", str(EPOCH_MS)), START_MS, count, queues, node)
        node += 1


async def blocks(raw: "asyncpg.Connection[asyncpg.Record]", queue: int, *, newest: bool) -> int:
    """Pages of memory that a page of messages looks at; the plans are made before."""
    sql = PAGE.format(queue=f"{queue}::bigint", newest=newest)
    _ = await raw.fetchval(sql)  # makes the plans
    plan = msgspec.json.decode(await raw.fetchval(sql))[0]["Plan"]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def test_a_page_reads_its_rows_and_not_the_table(dsn: str, within: Within) -> None:
    within(story(dsn))


async def story(dsn: str) -> None:
    raw = await asyncpg.connect(dsn)
    try:
        await raw.execute("set search_path = postroad")
        await raw.execute(QUEUES)
        for day in range(3):
            await raw.execute("select make_history_day($1)", START_MS // 86_400_000 + day)
        await fill(raw, 600, 3, 1)
        await raw.execute("analyze postroad.message, postroad.history_batch")
        few = {newest: await blocks(raw, 2, newest=newest) for newest in (True, False)}
        await fill(raw, 30_000, 50, 4)
        await raw.execute("analyze postroad.message, postroad.history_batch")
        every = await raw.fetchval("select sum(relpages)::int from pg_class where relkind = 'r'")
        for newest, least in few.items():
            many = await blocks(raw, 2, newest=newest)
            assert many < 3 * least + 300, (newest, least, many, every)
            assert many < every / 2, (newest, least, many, every)
    finally:
        await raw.close()
