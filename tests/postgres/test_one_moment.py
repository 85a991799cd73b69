"""What is told of a message is of one moment, also when it ends in the middle of being read."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg

from postroad import Message, Postroad
from postroad.model.ids import to_number

WAITS = """
create or replace function postroad.tries_of(p_id bigint) returns json language sql stable as $$
  select t.found from (
    select coalesce(json_agg(json_build_object(
             'number', number, 'started_at_ms', started_at, 'level', level, 'outcome', kind,
             'status', status, 'took_ms', took_ms, 'error', error) order by number), '[]') as found
      from postroad.attempt where message_id = p_id offset 0) t, pg_advisory_lock_shared(7)
$$
"""
"""As it is, but it waits for a lock when it has read the tries."""
FACTS = "select postroad.message_facts('default', $1)"
ASKERS = "select count(*) from pg_locks where locktype = 'advisory' and not granted"


def test_a_message_that_dies_while_it_is_read_is_not_dead_without_a_try(
    dsn: str, within: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    road = Postroad(dsn)

    @road.handler("work", retries=0)
    async def work(_message: Message[str]) -> None:
        raise ValueError("no such photo")

    async def story() -> None:
        async with road, asyncpg.create_pool(dsn, min_size=2) as others:
            await others.execute(WAITS)
            number = to_number((await road.send("work", "it")).id)
            async with others.acquire() as holder:
                await holder.execute("select pg_advisory_lock(7)")
                asked = asyncio.ensure_future(others.fetchval(FACTS, number))
                while not await holder.fetchval(ASKERS):
                    await asyncio.sleep(0.01)
                await road.run(until_idle=True)
                await holder.execute("select pg_advisory_unlock(7)")
                found = json.loads(await asked)
            assert ("ended" in found, found["tries"]) == (False, [])
            after = json.loads(await others.fetchval(FACTS, number))
            assert (after["ended"]["reason"], len(after["tries"])) == ("exhausted", 1)

    within(story())
