"""A page of queues, of which one is deleted while it is read, is not taken for the last one."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg

from postroad import Message, Postroad

WAITING = "select count(*) from pg_locks where not granted and locktype = 'relation'"
FORGET = """
with gone as (delete from postroad.queue where name = 'b' returning id)
delete from postroad.queue_lane where queue_id in (select id from gone)
"""


def test_a_page_of_which_a_queue_is_deleted_meanwhile_leads_on(
    dsn: str, within: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    road, names = Postroad(dsn), ["a", "b", "c", "d"]

    async def work(_message: Message[None]) -> None: ...

    for name in names:
        road.handler(name)(work)

    async def story() -> None:
        async with road, asyncpg.create_pool(dsn, min_size=2) as others:
            for name in names:
                await road.send(name, None)
            await road.run(until_idle=True)
            async with others.acquire() as holder, holder.transaction():
                # The list of queues is read before the lock, their rows behind it.
                await holder.execute("lock table postroad.rung in access exclusive mode")
                asked = asyncio.ensure_future(road.inspect.queues(limit=2))
                while not await others.fetchval(WAITING):
                    await asyncio.sleep(0.01)
                await holder.execute(FORGET)
            first = await asked
            second = await road.inspect.queues(limit=2, after=first.after)
        shown = [row.queue for page in (first, second) for row in page.queues]
        assert (shown, second.after) == (["a", "c", "d"], "")

    within(story())
