"""Statements inside a caller's own transaction, through its own connection, whichever driver it is
of."""

import inspect
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.stores.postgres.connections import QUERIES

NO_TRANSACTION: Final = (
    "send_in belongs to a transaction, and none is open on this connection: begin one, or use send"
)


class CallerStatement(Struct, frozen=True):
    """A statement that answers a truth value."""

    name: str
    types: tuple[str, ...]
    """The types of the values; asyncpg finds them out by itself."""

    async def run(self, connection: object, values: Sequence[object]) -> bool:
        """Run it through a connection of asyncpg, psycopg 3 or SQLAlchemy, sync or async. What a
        driver raises is the caller's own."""
        kind = type(connection)
        rooms = {base.__module__.partition(".")[0] for base in kind.__mro__}
        if "asyncpg" in rooms:
            return await self._asyncpg(connection, values)
        if "psycopg" in rooms:
            return await self._psycopg(connection, values)
        if "sqlalchemy" in rooms:
            return await self._sqlalchemy(connection, values)
        raise BadInput(
            f"a {kind.__module__}.{kind.__qualname__} cannot be sent through: give a connection of "
            "asyncpg or psycopg 3, or a StoreConnection or Session of SQLAlchemy, sync or async"
        )

    async def _asyncpg(self, connection: Any, values: Sequence[object]) -> bool:
        if not connection.is_in_transaction():
            raise BadInput(NO_TRANSACTION)
        return bool(await connection.fetchval(QUERIES[self.name], *values))

    async def _psycopg(self, connection: Any, values: Sequence[object]) -> bool:
        if connection.autocommit and connection.info.transaction_status.name == "IDLE":
            raise BadInput(NO_TRANSACTION)
        cursor = connection.cursor(row_factory=import_module("psycopg.rows").tuple_row)
        cursor = await _done(cursor.execute(self._marked("%s::{type}"), values))
        return bool((await _done(cursor.fetchone()))[0])

    async def _sqlalchemy(self, connection: Any, values: Sequence[object]) -> bool:
        options: dict[str, object] = getattr(connection, "get_execution_options", dict)()
        if options.get("isolation_level") == "AUTOCOMMIT":
            raise BadInput(NO_TRANSACTION)
        text = import_module("sqlalchemy").text(self._marked("cast(:v{place} as {type})"))
        named = {f"v{place}": value for place, value in enumerate(values, start=1)}
        return bool((await _done(connection.execute(text, named))).scalar())

    def _marked(self, mark: str) -> str:
        """The statement with another driver's marks for its values."""
        return re.sub(
            r"\$(\d+)",
            lambda found: mark.format(place=found[1], type=self.types[int(found[1]) - 1]),
            QUERIES[self.name],
        )


async def _done(answer: Any) -> Any:
    """A sync driver has done it already; an async one is awaited."""
    return await answer if inspect.isawaitable(answer) else answer
