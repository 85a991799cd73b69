"""The state store's tables: the same steps on SQLite and on PostgreSQL, in two sets of SQL."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from postroad.stores.postgres.base import PostgresBase
from postroad.stores.postgres.connections import Raw, StoreConnection
from postroad.stores.sql import load
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database

PACKAGE: Final = "postroad.stores.rabbitmq.state"
DAY_MS: Final = 86_400_000
Row = tuple[Any, ...]
Step = tuple[str, Sequence[Row]]
"""The name of a statement, and the rows that it is run with."""


class Tables(Protocol):
    """A database that the statements run in."""

    async def write(self, label: str, steps: Sequence[Step], *, durable: bool = False) -> None:
        """Run all steps in one transaction."""

    async def read(self, label: str, query: str, *values: object) -> list[Row]:
        """Run a statement and answer its rows."""


class SqliteTables:
    """The tables in a SQLite file."""

    def __init__(self, file: SqliteBase) -> None:
        self._file = file
        self._sql = load(PACKAGE, "sqlite")

    async def write(self, label: str, steps: Sequence[Step], *, durable: bool = False) -> None:
        """Run all steps in one transaction."""

        def work(db: Database) -> None:
            for query, rows in steps:
                db.connection.executemany(self._sql[query], rows)

        await self._file.write(label, work, durable=durable)

    async def read(self, label: str, query: str, *values: object) -> list[Row]:
        """Run a statement and answer its rows."""

        def work(db: Database) -> list[Row]:
            return db.connection.execute(self._sql[query], values).fetchall()

        return await self._file.read(label, work)


class PostgresTables:
    """The tables in a PostgreSQL database."""

    def __init__(self, server: PostgresBase) -> None:
        self._server = server
        self._sql = load(PACKAGE, "postgres")
        self._line: StoreConnection | None = None

    async def write(self, label: str, steps: Sequence[Step], *, durable: bool = False) -> None:
        """Run all steps in one transaction, which is always durable."""
        del durable

        async def work(raw: Raw) -> None:
            async with raw.transaction():
                for query, rows in steps:
                    if query == "history_insert":  # the partition of the day may not exist yet
                        await raw.fetch(self._sql["history_lock"], listed([row[0] for row in rows]))
                        await raw.execute(self._sql["history_path"])
                        for day in {row[3] // DAY_MS for row in rows}:
                            await raw.fetchval(self._sql["history_day"], day)
                    await raw.executemany(self._sql[query], rows)

        await self._own().work(label, work)

    async def read(self, label: str, query: str, *values: object) -> list[Row]:
        """Run a statement and answer its rows."""

        async def work(raw: Raw) -> list[Row]:
            return [tuple(row) for row in await raw.fetch(self._sql[query], *values)]

        return await self._own().work(label, work)

    def _own(self) -> StoreConnection:
        if self._line is None:
            self._line = self._server.own_line("broker")
        return self._line


def listed(numbers: Sequence[int]) -> str:
    """Ids as one JSON value."""
    return msgspec.json.encode(list(numbers)).decode()
