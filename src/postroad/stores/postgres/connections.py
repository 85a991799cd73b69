"""A few long-lived connections, each for one kind of work; it runs one statement at a time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg
from asyncpg import Record
from msgspec import Struct

from postroad.model.errors import BadDsn, ServerTooOld, StoreUnavailable
from postroad.ports.clock import Chance, Clock
from postroad.stores.postgres.errors import AGAIN, DRIVER_ERRORS, is_lost, named
from postroad.stores.sql import load
from postroad.stores.statements import Row, Statements, Value

QUERIES: Final = load("postroad.stores.postgres", "queries")
OLDEST_SERVER: Final = 15
CONNECT_S: Final = 10.0
ANSWER_S: Final = 30.0
"""A server that does not answer for so long is given up. An owner stops starting messages long
before that."""
BACKOFF_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0)

if TYPE_CHECKING:  # only the stubs know that it is generic
    Raw = asyncpg.Connection[Record]
else:
    Raw = asyncpg.Connection
T = TypeVar("T")


class DatabaseAddress(Struct, frozen=True):
    """Where the database is. `listen`: an address of it that does not go through PgBouncer."""

    dsn: str
    listen: str = ""

    @property
    def name(self) -> str:
        """The address without its password, for errors and logs."""
        parts = urlsplit(self.dsn)
        port = f":{parts.port}" if parts.port else ""
        return f"postgresql://{parts.hostname or ''}{port}{parts.path}"


def read_address(dsn: str) -> DatabaseAddress:
    """The address that a DSN names; `?listen=` is ours, everything else is PostgreSQL's."""
    try:
        parts = urlsplit(dsn)
        _ = parts.port  # whether it is a number
    except ValueError:  # its text has the password in it, where that holds a / or a #
        raise BadDsn(
            "the PostgreSQL address is malformed: check its port, and write /, #, ? and @ in a "
            "password as %2F, %23, %3F and %40"
        ) from None
    query = parse_qsl(parts.query, keep_blank_values=True)
    listen = dict(query).get("listen", "")
    if listen and not listen.startswith(("postgresql://", "postgres://")):
        raise BadDsn("?listen= takes a whole address: listen=postgresql://host:5432/database")
    rest = urlencode([(name, value) for name, value in query if name != "listen"])
    return DatabaseAddress(urlunsplit(parts._replace(query=rest)), listen)


async def dial(address: DatabaseAddress, *, direct: bool = False, pooled: bool = False) -> Raw:
    """Open a connection. `pooled`: no state of it may outlive a transaction."""
    dsn = address.listen if direct and address.listen else address.dsn
    try:
        raw: Raw = await asyncpg.connect(
            dsn,
            timeout=CONNECT_S,
            statement_cache_size=0 if pooled else 100,
            max_cached_statement_lifetime=0,
            server_settings={"application_name": "postroad"},
        )
    except (*DRIVER_ERRORS, ValueError) as error:
        raise named(error, address.name) from error
    if raw.get_server_version().major < OLDEST_SERVER:
        version = raw.get_server_version().major
        raw.terminate()
        raise ServerTooOld(
            f"{address.name} is PostgreSQL {version}: Postroad needs {OLDEST_SERVER} or newer"
        )
    return raw


@asynccontextmanager
async def connected(address: DatabaseAddress) -> AsyncIterator[Raw]:
    """A connection for a few statements, whose errors are raised as ours."""
    raw = await dial(address, pooled=True)
    try:
        yield raw
    except DRIVER_ERRORS as error:
        raise named(error, address.name) from error
    finally:
        raw.terminate()


async def is_pooled(raw: Raw) -> bool:
    """Whether there is a pooler like PgBouncer: then another server process answers than the one
    that was announced. (In session mode it would do no harm, but cannot be told apart.)"""
    async with raw.transaction():
        pid: int = await raw.fetchval("select pg_backend_pid()")
    return pid != raw.get_server_pid()


class StoreConnection(Statements):
    """A connection that is opened when it is needed, and again, at growing intervals, when it is
    lost. A statement that was under way then may have been done, or not."""

    def __init__(
        self,
        name: str,
        address: DatabaseAddress,
        counts: Counter[str],
        clock: Clock,
        chance: Chance,
    ) -> None:
        self.name = name
        self.answer_s = ANSWER_S
        self.pooled = False
        self.pid = 0
        self._address = address
        self._counts = counts
        self._clock = clock
        self._chance = chance
        self._raw: Raw | None = None
        self._lock = asyncio.Lock()
        self._failures = 0
        self._not_before_s = 0.0
        self._why: Exception | None = None

    async def one(self, label: str, query: str, values: Sequence[object] = ()) -> str:
        """The only value of a query's only row: our functions return one JSON document."""
        return await self._run(
            label, lambda raw: raw.fetchval(QUERIES[query], *values, timeout=self.answer_s)
        )

    async def rows(self, label: str, query: str, values: Sequence[object] = ()) -> list[Record]:
        """All rows of a query."""
        return await self._run(
            label, lambda raw: raw.fetch(QUERIES[query], *values, timeout=self.answer_s)
        )

    async def select(self, label: str, name: str, *values: Value) -> list[Row]:
        """Run a statement; answers its rows."""
        return [tuple(row) for row in await self.rows(label, name, values)]

    async def count(self, label: str, name: str, *values: Value) -> int:
        """Run a statement that returns what it changed; answers how many rows."""
        return len(await self.rows(label, name, values))

    async def insert(self, label: str, name: str, *values: Value) -> int:
        """Run a statement that returns the number of its row."""
        return int(await self.one(label, name, values))

    async def together(self, label: str, work: Callable[[Raw], Awaitable[T]]) -> T:
        """Run several statements in one transaction. The work may be done a second time, after the
        first was rolled back."""

        async def inside(raw: Raw) -> T:
            async with raw.transaction():
                return await work(raw)

        return await self._run(label, inside)

    async def work(self, label: str, work: Callable[[Raw], Awaitable[T]]) -> T:
        """Run any work on the connection; a second time after a deadlock."""
        return await self._run(label, work)

    async def close(self) -> None:
        """Close it, after what is under way has ended."""
        async with self._lock:
            raw, self._raw = self._raw, None
            if raw is not None:
                try:
                    await raw.close(timeout=CONNECT_S)
                except DRIVER_ERRORS:
                    raw.terminate()

    async def _run(self, label: str, work: Callable[[Raw], Awaitable[T]]) -> T:
        async with self._lock:
            for turn in (1, 2):
                raw = await self._ready()
                self._counts[label] += 1
                try:
                    return await self._statement(raw, work)
                except AGAIN as error:
                    if turn == 2:
                        raise named(error, self._address.name) from error
                except DRIVER_ERRORS as error:
                    if is_lost(error) or raw.is_closed():
                        self._drop(raw)
                    raise named(error, self._address.name) from error
        raise AssertionError("two turns, and neither returned")  # pragma: no cover

    async def _statement(self, raw: Raw, work: Callable[[Raw], Awaitable[T]]) -> T:
        if not self.pooled:
            return await work(raw)
        # Parse and execute are two steps, which must reach the same server.
        async with raw.transaction():
            return await work(raw)

    async def _ready(self) -> Raw:
        if self._raw is not None and not self._raw.is_closed():
            return self._raw
        if self._clock.steady_s() < self._not_before_s:
            raise StoreUnavailable(f"{self._address.name} is away: {self._why}")
        try:
            self._raw = await dial(self._address, pooled=self.pooled)
        except Exception as error:
            wait_s = BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
            self._not_before_s = self._clock.steady_s() + wait_s * (0.5 + self._chance.random())
            self._failures += 1
            self._why = error
            raise
        self._failures = 0
        self.pid = self._raw.get_server_pid()
        return self._raw

    def _drop(self, raw: Raw) -> None:
        self._raw = None
        self.pid = 0
        raw.terminate()
