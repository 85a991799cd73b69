"""Sending inside the caller's own transaction: into the append-only `arrival` table, through the
caller's own connection, whichever driver it is of."""

import inspect
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from postroad.model.errors import BadInput
from postroad.model.words import Accepted, Draft, Queue, QueueSpec, digest_of
from postroad.stores.postgres.connections import QUERIES
from postroad.stores.postgres.inbox import InboxVerbs

NO_TRANSACTION: Final = (
    "send_in belongs to a transaction, and none is open on this connection: begin one, or use send"
)
TYPES: Final = (
    *("bigint", "bigint", "bigint", "int", "int", "bigint", "bigint", "bigint"),
    *("text", "text", "bytea", "bytea", "bytea"),
)
"""Of the columns; asyncpg finds them out by itself."""


def columns(drafts: Sequence[Draft]) -> tuple[list[Any], ...]:
    """Drafts as the columns of `arrival`."""
    return (
        [d.id for d in drafts],
        [d.queue for d in drafts],
        [d.lane for d in drafts],
        [d.slot for d in drafts],
        [d.priority for d in drafts],
        [d.accepted_at_ms for d in drafts],
        [d.due_ms for d in drafts],
        [d.expires_at_ms for d in drafts],
        [d.order_key for d in drafts],
        [d.key for d in drafts],
        [digest_of(d) if d.key else b"" for d in drafts],
        [d.headers for d in drafts],
        [d.body for d in drafts],
    )


async def insert_arrivals(connection: object, drafts: Sequence[Draft]) -> None:
    """Send through the caller's connection: of asyncpg, psycopg 3 or SQLAlchemy, sync or async.
    What a driver raises is the caller's own."""
    kind = type(connection)
    rooms = {base.__module__.partition(".")[0] for base in kind.__mro__}
    if "asyncpg" in rooms:
        await _asyncpg(connection, columns(drafts))
    elif "psycopg" in rooms:
        await _psycopg(connection, columns(drafts))
    elif "sqlalchemy" in rooms:
        await _sqlalchemy(connection, columns(drafts))
    else:
        raise BadInput(
            f"a {kind.__module__}.{kind.__qualname__} cannot be sent through: give a connection of "
            "asyncpg or psycopg 3, or a Connection or Session of SQLAlchemy, sync or async"
        )


async def _asyncpg(connection: Any, values: Sequence[object]) -> None:
    if not connection.is_in_transaction():
        raise BadInput(NO_TRANSACTION)
    await connection.execute(QUERIES["arrive"], *values)


async def _psycopg(connection: Any, values: Sequence[object]) -> None:
    if connection.autocommit and connection.info.transaction_status.name == "IDLE":
        raise BadInput(NO_TRANSACTION)
    await _done(connection.execute(_marked("%s::{type}[]"), values))


async def _sqlalchemy(connection: Any, values: Sequence[object]) -> None:
    options: dict[str, object] = getattr(connection, "get_execution_options", dict)()
    if options.get("isolation_level") == "AUTOCOMMIT":
        raise BadInput(NO_TRANSACTION)
    text = import_module("sqlalchemy").text(_marked("cast(:v{place} as {type}[])"))
    named = {f"v{place}": value for place, value in enumerate(values, start=1)}
    await _done(connection.execute(text, named))


def _marked(mark: str) -> str:
    """The statement with another driver's marks for its values."""
    return re.sub(
        r"\$(\d+)",
        lambda found: mark.format(place=found[1], type=TYPES[int(found[1]) - 1]),
        QUERIES["arrive"],
    )


async def _done(answer: object) -> None:
    """A sync driver has done it already; an async one is awaited."""
    if inspect.isawaitable(answer):
        _ = await answer  # a driver refuses by raising


class JoinVerbs(InboxVerbs):
    """The caller's transactions on the road's database."""

    async def queue_in(self, connection: object, spec: QueueSpec) -> Queue:
        """The queue of that name, made when it is new: not through the caller's `connection`, so
        that a long transaction blocks nobody who sends to it. It stays after a rollback."""
        del connection
        (queue,) = await self.open_queues([spec])
        return queue

    async def send_in(self, connection: object, drafts: Sequence[Draft]) -> list[Accepted]:
        """Store them if the caller's transaction commits. Whether a key was used before is seen
        only then: a duplicate goes no further."""
        self._check_open()
        await insert_arrivals(connection, drafts)
        return [Accepted(draft.id) for draft in drafts]
