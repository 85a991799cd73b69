"""PostgreSQL under the contract suite: an empty road for each test, whose clock stands still."""

import asyncio
from typing import TYPE_CHECKING, Final

import asyncpg

from postroad.ports.clock import SystemClock
from postroad.stores.postgres.store import PostgresStore
from tests.contract.clock import START_MS
from tests.contract.rigs import Rows
from tests.servers.postgres import PrivatePostgres

if TYPE_CHECKING:  # only the stubs know that it is generic
    Connection = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection

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
   and state is distinct from 'idle'
"""


class Template:
    """One road on a server, which is emptied for each test. Whether it waits for its disk is not
    what is tested here. A store finds the connections of the one before: a new connection plans
    every function again, which was half of all that these tests took."""

    def __init__(self, server: PrivatePostgres) -> None:
        self.server = server
        self.runner = asyncio.Runner()  # connections belong to a loop
        self._idle: dict[str, Connection] = {}
        self.dsn = server.create_road()
        name = self.dsn.rpartition("/")[2]
        server.sql(f'alter database "{name}" set synchronous_commit = off')
        server.sql(STILL, name)

    async def own(self) -> Connection:
        """A connection for a test's own use."""
        return self._idle.pop("own", None) or await asyncpg.connect(self.dsn)

    def lend(self, store: PostgresStore) -> None:
        """Give a store that is not open yet what there is."""
        for line in store._lines:
            line._raw = self._idle.pop(line.name, None)
            line.pid = line._raw.get_server_pid() if line._raw else 0

    def take_back(self, store: PostgresStore, own: Connection) -> None:
        """What is whole and does nothing."""
        self._keep("own", own)
        for line in store._lines:
            if line._raw is not None and not line._lock.locked():
                self._keep(line.name, line._raw)
                line._raw = None

    def _keep(self, name: str, raw: Connection) -> None:
        # One that a store opens when it is first needed is not lent to the next store.
        if raw.is_closed() or raw.is_in_transaction() or name in self._idle:
            raw.terminate()
        else:
            self._idle[name] = raw

    def close(self) -> None:
        async def end() -> None:
            for raw in self._idle.values():
                await raw.close(timeout=10)

        with self.runner:
            self.runner.run(end())


class PostgresRig:
    """A database of its own; its clock is set by hand."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.now_ms = START_MS
        self._store: PostgresStore | None = None
        self._own: Connection | None = None

    @property
    def dsn(self) -> str:
        return self.template.dsn

    @property
    def store(self) -> PostgresStore:
        assert self._store is not None
        return self._store

    @property
    def own(self) -> Connection:
        """A connection of the test's own."""
        assert self._own is not None
        return self._own

    async def open(self) -> None:
        self._own = await self.template.own()
        await self._alone()
        await self._own.execute(f"set search_path = postroad; {WIPE}")
        await self.advance(0)
        self._store = PostgresStore(self.dsn, SystemClock())
        self.template.lend(self._store)
        await self._store.open()

    async def _alone(self) -> None:
        """A statement that the test before gave up may still be under way on the server, and
        would write into this one."""
        async with asyncio.timeout(60):
            while await self.own.fetchval(OTHERS):
                await asyncio.sleep(0.01)

    async def reopen(self) -> None:
        await self.store.close()
        self._store = PostgresStore(self.dsn, SystemClock())
        await self._store.open()

    async def advance(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)
        await self.own.execute(f"update still set now_ms = {self.now_ms}")

    async def rows(self, sql: str) -> Rows:
        return [tuple(row) for row in await self.own.fetch(sql)]

    async def close(self) -> None:
        self.template.take_back(self.store, self.own)
        await self.store.close()
