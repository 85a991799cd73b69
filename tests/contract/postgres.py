"""PostgreSQL under the contract suite: an empty road for each test, whose clock stands still."""

import asyncio
from typing import Final

import asyncpg

from postroad.ports.clock import SystemClock
from postroad.stores.postgres.connections import read_address
from postroad.stores.postgres.schema import migrate
from postroad.stores.postgres.store import PostgresStore
from tests.contract.clock import START_MS
from tests.contract.rigs import Rows
from tests.servers.postgres import PrivatePostgres

# In its own database a test may say what time it is; the product has no door for that.
STILL: Final = f"""
create table postroad.still (now_ms bigint not null);
insert into postroad.still values ({START_MS});
create or replace function postroad.now_ms() returns bigint language sql stable
  as $$ select now_ms from postroad.still $$;
create or replace function postroad.now_us() returns bigint language sql volatile
  as $$ select now_ms * 1000 from postroad.still $$;
"""


# A new database took 0.3 s to make and 1.5 s to drop.
WIPE: Final = """
do $$ declare name text; begin
  for name in select relname from pg_class
     where relnamespace = 'postroad'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname not in ('schema_version', 'still')
  loop execute format('delete from postroad.%I', name); end loop;
end $$;
"""


OTHERS: Final = """
select count(*) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
"""


class Template:
    """One road on a server, which is emptied for each test. Whether it waits for its disk is not
    what is tested here."""

    def __init__(self, server: PrivatePostgres) -> None:
        self.server = server
        self.dsn = server.create_database()
        name = self.dsn.rpartition("/")[2]
        server.sql(f'alter database "{name}" set synchronous_commit = off')
        asyncio.run(migrate(read_address(self.dsn)))
        server.sql(STILL, name)


class PostgresRig:
    """A database of its own; its clock is set by hand."""

    def __init__(self, template: Template) -> None:
        self.dsn = template.dsn
        self.now_ms = START_MS
        self._store: PostgresStore | None = None
        self._own: asyncpg.Connection[asyncpg.Record] | None = None

    @property
    def store(self) -> PostgresStore:
        assert self._store is not None
        return self._store

    @property
    def own(self) -> "asyncpg.Connection[asyncpg.Record]":
        """A connection of the test's own."""
        assert self._own is not None
        return self._own

    async def open(self) -> None:
        self._own = await asyncpg.connect(self.dsn)
        await self._alone()
        await self._own.execute(f"set search_path = postroad; {WIPE}")
        await self.advance(0)
        await self.reopen()

    async def _alone(self) -> None:
        """A statement that the test before gave up may still be under way on the server, and
        would write into this one."""
        async with asyncio.timeout(60):
            while await self.own.fetchval(OTHERS):
                await asyncio.sleep(0.01)

    async def reopen(self) -> None:
        if self._store is not None:
            await self._store.close()
        self._store = PostgresStore(self.dsn, SystemClock())
        await self._store.open()

    async def advance(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)
        await self.own.execute(f"update still set now_ms = {self.now_ms}")

    async def rows(self, sql: str) -> Rows:
        return [tuple(row) for row in await self.own.fetch(sql)]

    async def close(self) -> None:
        await self.store.close()
        await self.own.close()
