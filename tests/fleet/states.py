"""What a road's database says of its messages, by SQL and not by the engine's own words."""

import asyncio

import asyncpg

from postroad.model.ids import to_text
from tests.crash.states import Found, State

# uncertain ones lie on a rung below the first level; held ones on one that is blocked for ever.
STATES = """
select m.id, case when r.level < 0 then 'uncertain'
                  when r.blocked_until >= 4611686018427387904 then 'held'
                  else 'waiting' end, m.attempts, m.level, m.marks, r.lane_id, ''
  from postroad.message m join postroad.rung r on r.id = m.rung_id
union all select id, state, attempts, level, 0, 0, '' from postroad.history
union all select id, 'dead', attempts, level, 0, lane_id, reason from postroad.dead
"""
WAITING = """
select (select count(*) from postroad.message m join postroad.rung r on r.id = m.rung_id
         where r.level >= 0) + (select count(*) from postroad.arrival)
"""
LANES = "select count(*) from postroad.lane where"
OWNED = f"{LANES} owner is not null"


def look_into(dsn: str) -> Found:
    """Everything."""
    return asyncio.run(_look_into(dsn))


async def _look_into(dsn: str) -> Found:
    connection = await asyncpg.connect(dsn)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            messages: dict[str, State] = {}
            twice: list[str] = []
            for found, *rest in await connection.fetch(STATES):
                name = to_text(found)
                twice += [name] if name in messages else []
                messages[name] = State(*rest)
            rows = await connection.fetchval("select count(*) from postroad.attempt")
            owned = await connection.fetchval(OWNED)
            suspect = await connection.fetchval(f"{LANES} crashes > 0")
    finally:
        await connection.close()
    return Found(messages, rows, owned, suspect, twice, "ok")


def ask(dsn: str, query: str, *values: object) -> "list[asyncpg.Record]":
    """Rows of a query, by a connection of its own."""

    async def fetch() -> "list[asyncpg.Record]":
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetch(query, *values)
        finally:
            await connection.close()

    return asyncio.run(fetch())


def number(dsn: str, query: str, *values: object) -> int:
    """The only value of the only row."""
    return int(ask(dsn, query, *values)[0][0])


def waiting(dsn: str) -> int:
    """Messages that are not over yet."""
    return number(dsn, WAITING)


def tries_of(dsn: str) -> dict[str, int]:
    """Messages that are not over yet, and how often each was tried as far as is recorded."""
    rows = ask(dsn, "select id, attempts from postroad.message")
    return {to_text(row[0]): row[1] for row in rows}
