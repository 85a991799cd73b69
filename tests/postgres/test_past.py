"""History in batches: what was written before is kept, and a message is found among many."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import asyncpg
import msgspec

from postroad import Postroad
from postroad.model.ids import to_number
from postroad.stores.postgres.connections import QUERIES, read_address
from postroad.stores.postgres.schema import MIGRATIONS, VERSION, migrate
from postroad.stores.sql import number_of
from tests.servers.postgres import PrivatePostgres

Within = Callable[[Coroutine[Any, Any, Any]], Any]
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
DAY_MS = 86_400_000
BATCHES = 29
"""The step of the schema that brings them."""
NEEDED = (33, 38)
"""Later steps that have nothing to do with history, and that this release's claims need."""
COLUMNS = "id, queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms"
ALL = f"select {COLUMNS} from postroad.history order by id"
OLD_ROWS = [
    (1 << 40, 1, "delivered", False, 5, 10 * DAY_MS, 0, 1, 7),
    ((1 << 40) + 1, 1, "delivered", True, 5, 10 * DAY_MS, 3, 9, 0),
    ((1 << 40) + 2, 2, "cancelled", False, 6, 11 * DAY_MS - 1, 1, 0, 0),
    (1 << 50, 1, "delivered", False, 9, 11 * DAY_MS + 5, 0, 1, 12),
]
# So many moments a day, each with two queues' batches and some that went by themselves.
FILL = """
insert into postroad.past (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms, ids)
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
        await connection.execute("select postroad.history_day_v1($1)", day)
        await connection.execute(FILL.format(day=day, moments=moments, each=each))
    await connection.execute("analyze postroad.past")
    return days * moments * (2 * each + 5)


async def buffers_of(connection: Connection, number: int) -> int:
    """What the server reads to find one message, which must be there."""
    query = f"select * from postroad.finished_v1(array[{number}::bigint])"
    told = await connection.fetchval(f"explain (analyze, buffers, format json) {query}")
    plan: dict[str, Any] = msgspec.json.decode(told)[0]["Plan"]
    assert plan["Actual Rows"] == 1
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


async def made_before(dsn: str, stamp: int, also: tuple[int, ...] = ()) -> Connection:
    """A road without batches, whose schema says that it is of another version."""
    raw = await asyncpg.connect(dsn)
    await raw.execute(QUERIES["schema_create"])
    await raw.execute("set search_path = postroad, pg_temp")
    for name in sorted(MIGRATIONS):
        if number_of(name) < BATCHES or number_of(name) in also:
            await raw.execute(MIGRATIONS[name])
    await raw.execute(QUERIES["schema_stamp"].format(stamp, 1))
    return raw


def test_history_of_before_is_the_same_in_its_view(server: PrivatePostgres, within: Within) -> None:
    dsn = server.create_database()

    async def story() -> None:
        raw = await made_before(dsn, BATCHES - 1)
        for day in (10, 11):
            await raw.execute("select history_day_v1($1)", day)
        await raw.copy_records_to_table("history", records=OLD_ROWS, schema_name="postroad")
        later = [name for name in MIGRATIONS if number_of(name) >= BATCHES]
        assert await migrate(read_address(dsn)) == len(later)
        assert [tuple(row) for row in await raw.fetch(ALL)] == OLD_ROWS
        found = "select * from finished_v1($1) order by id"
        numbers = [row[0] for row in OLD_ROWS]
        assert [tuple(row) for row in await raw.fetch(found, numbers)] == OLD_ROWS
        # As processes of before write it.
        columns = COLUMNS.replace("late, ", "")
        new = f"insert into history ({columns}) values (7, 1, $1, 1, $2, 2, 3, 4)"
        await raw.execute(new, "cancelled", 11 * DAY_MS)
        (row,) = await raw.fetch(found, [7])
        assert tuple(row) == (7, 1, "cancelled", False, 1, 11 * DAY_MS, 2, 3, 4)
        await raw.close()

    within(story())


def test_workers_go_on_while_their_schema_is_moved(server: PrivatePostgres, within: Within) -> None:
    dsn = server.create_database()

    async def story() -> None:
        raw = await made_before(dsn, VERSION, NEEDED)
        seen = asyncio.Semaphore(0)
        road = Postroad(dsn)

        @road.handler("good")
        async def good(_message: Any) -> None:
            seen.release()

        async def sent(count: int) -> list[int]:
            receipts = await road.send_many([("good", n) for n in range(count)])
            for _ in receipts:
                await seen.acquire()
            return [to_number(receipt.id) for receipt in receipts]

        async with road:
            running = asyncio.create_task(road.run())
            ids = await sent(20)  # from now on its connections have plans for the table
            async with raw.transaction():
                for name in sorted(MIGRATIONS):
                    if number_of(name) >= BATCHES and number_of(name) not in NEEDED:
                        await raw.execute(MIGRATIONS[name])
            ids += await sent(20)
            road.stop()
            await running
        assert await raw.fetchval("select count(*) from finished_v1($1)", ids) == 40
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
        assert await raw.fetch("select * from postroad.finished_v1($1)", [beside, 5]) == []
        await raw.close()

    within(story())
