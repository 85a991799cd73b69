"""History in batches: single rows are written through its view, and one message is found fast."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import asyncpg
import msgspec

Within = Callable[[Coroutine[Any, Any, Any]], Any]
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
DAY_MS = 86_400_000
COLUMNS = "id, queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms"
ALL = f"select {COLUMNS} from postroad.history order by id"
ROWS = [
    (1 << 40, 1, "delivered", False, 5, 10 * DAY_MS, 0, 1, 7),
    ((1 << 40) + 1, 1, "delivered", True, 5, 10 * DAY_MS, 3, 9, 0),
    ((1 << 40) + 2, 2, "cancelled", False, 6, 11 * DAY_MS - 1, 1, 0, 0),
    (1 << 50, 1, "delivered", False, 9, 11 * DAY_MS + 5, 0, 1, 12),
]
# So many moments a day, each with two queues' batches and some that went by themselves.
FILL = """
insert into postroad.history_batch (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms, ids)
select (n << 28) + q * 8192, q, 'delivered', 5, {day} * 86400000::bigint, 0, 1, 0,
       (select array_agg(q * 8192 + o * 32768 order by o) from generate_series(0, {each} - 1) o)
  from generate_series({day} * 100000::bigint, {day} * 100000 + {moments} - 1) n, generate_series(0, 1) q
union all
select (n << 28) + o * 32768 + 16384, 3, 'delivered', 5, {day} * 86400000::bigint, 0, 1, 0, null
  from generate_series({day} * 100000::bigint, {day} * 100000 + {moments} - 1) n, generate_series(1, 5) o
"""


async def filled(connection: Connection, days: int, moments: int, each: int) -> int:
    """Days of history; answers how many messages it has."""
    await connection.execute("set search_path = postroad")
    for day in range(100, 100 + days):
        await connection.execute("select postroad.make_history_day($1)", day)
        await connection.execute(FILL.format(day=day, moments=moments, each=each))
    await connection.execute("analyze postroad.history_batch")
    return days * moments * (2 * each + 5)


async def buffers_of(connection: Connection, number: int) -> int:
    """What the server reads to find one message, which must be there."""
    query = f"select * from postroad.finished(array[{number}::bigint])"
    told = await connection.fetchval(f"explain (analyze, buffers, format json) {query}")
    plan: dict[str, Any] = msgspec.json.decode(told)[0]["Plan"]
    assert plan["Actual Rows"] == 1
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_rows_that_are_written_one_by_one_are_in_the_view_and_found_by_id(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        raw = await asyncpg.connect(dsn)
        await raw.execute("set search_path = postroad")
        for day in (10, 11):
            await raw.execute("select make_history_day($1)", day)
        await raw.copy_records_to_table("history", records=ROWS, schema_name="postroad")
        assert [tuple(row) for row in await raw.fetch(ALL)] == ROWS
        found = "select * from finished($1) order by id"
        numbers = [row[0] for row in ROWS]
        assert [tuple(row) for row in await raw.fetch(found, numbers)] == ROWS
        columns = COLUMNS.replace("late, ", "")
        new = f"insert into history ({columns}) values (7, 1, $1, 1, $2, 2, 3, 4)"
        await raw.execute(new, "cancelled", 11 * DAY_MS)
        (row,) = await raw.fetch(found, [7])
        assert tuple(row) == (7, 1, "cancelled", False, 1, 11 * DAY_MS, 2, 3, 4)
        await raw.close()

    within(story())


def test_a_message_is_found_among_many_by_few_pages(dsn: str, within: Within) -> None:
    async def story() -> None:
        raw = await asyncpg.connect(dsn)
        count = await filled(raw, days=3, moments=200, each=200)
        assert await raw.fetchval("select count(*) from postroad.history") == count
        for day in range(100, 103):
            moment = day * 100_000 + 150 << 28
            assert await buffers_of(raw, moment + 8192 + 199 * 32_768) < 40  # the last of a batch
            assert await buffers_of(raw, moment + 5 * 32_768 + 16_384) < 40  # one by itself
        beside = (100 * 100_000 + 150 << 28) + 77
        assert await raw.fetch("select * from postroad.finished($1)", [beside, 5]) == []
        await raw.close()

    within(story())
