"""Sending inside the caller's own transaction: into the append-only `arrival` table, through the
caller's own connection, whichever driver it is of."""

import inspect
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from postroad.model.entities import Accepted, Draft, Queue, QueueSpec, digest_of
from postroad.model.errors import BadInput, QueueGone
from postroad.model.unused import GONE
from postroad.stores.postgres.connections import QUERIES
from postroad.stores.postgres.inbox import PostgresInbox

NO_TRANSACTION: Final = (
    "send_in belongs to a transaction, and none is open on this connection: begin one, or use send"
)
TYPES: Final = (
    *("bigint[]", "bigint[]", "bigint[]", "int[]", "int[]", "bigint[]", "bigint[]", "bigint[]"),
    *("text[]", "text[]", "bytea[]", "bytea[]", "bytea[]", "boolean"),
)
"""Of the values; asyncpg finds them out by itself."""


def columns(drafts: Sequence[Draft]) -> tuple[list[Any], ...]:
    """Drafts as the columns of `arrival`."""
    return (
        [d.id for d in drafts],
        [d.queue for d in drafts],
        [d.lane for d in drafts],
        [d.order_group for d in drafts],
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


async def insert_arrivals(connection: object, drafts: Sequence[Draft], *, sure: bool) -> bool:
    """Send through the caller's connection: of asyncpg, psycopg 3 or SQLAlchemy, sync or async.
    False: a queue is gone, or newer than what its transaction sees, and nothing was stored; `sure`
    does not ask. What a driver raises is the caller's own."""
    values = (*columns(drafts), sure)
    kind = type(connection)
    rooms = {base.__module__.partition(".")[0] for base in kind.__mro__}
    if "asyncpg" in rooms:
        return await _asyncpg(connection, values)
    if "psycopg" in rooms:
        return await _psycopg(connection, values)
    if "sqlalchemy" in rooms:
        return await _sqlalchemy(connection, values)
    raise BadInput(
        f"a {kind.__module__}.{kind.__qualname__} cannot be sent through: give a connection of "
        "asyncpg or psycopg 3, or a StoreConnection or Session of SQLAlchemy, sync or async"
    )


async def _asyncpg(connection: Any, values: Sequence[object]) -> bool:
    if not connection.is_in_transaction():
        raise BadInput(NO_TRANSACTION)
    return bool(await connection.fetchval(QUERIES["arrive"], *values))


async def _psycopg(connection: Any, values: Sequence[object]) -> bool:
    if connection.autocommit and connection.info.transaction_status.name == "IDLE":
        raise BadInput(NO_TRANSACTION)
    cursor = connection.cursor(row_factory=import_module("psycopg.rows").tuple_row)
    cursor = await _done(cursor.execute(_marked("%s::{type}"), values))
    return bool((await _done(cursor.fetchone()))[0])


async def _sqlalchemy(connection: Any, values: Sequence[object]) -> bool:
    options: dict[str, object] = getattr(connection, "get_execution_options", dict)()
    if options.get("isolation_level") == "AUTOCOMMIT":
        raise BadInput(NO_TRANSACTION)
    text = import_module("sqlalchemy").text(_marked("cast(:v{place} as {type})"))
    named = {f"v{place}": value for place, value in enumerate(values, start=1)}
    return bool((await _done(connection.execute(text, named))).scalar())


def _marked(mark: str) -> str:
    """The statement with another driver's marks for its values."""
    return re.sub(
        r"\$(\d+)",
        lambda found: mark.format(place=found[1], type=TYPES[int(found[1]) - 1]),
        QUERIES["arrive"],
    )


async def _done(answer: Any) -> Any:
    """A sync driver has done it already; an async one is awaited."""
    return await answer if inspect.isawaitable(answer) else answer


class PostgresSending(PostgresInbox):
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
        if not await insert_arrivals(connection, drafts, sure=False):
            # From now on those that are there stay until the caller's transaction ends.
            queues = sorted({draft.queue for draft in drafts})
            if not await self._one(self._side, "queues", "are_queues", queues):
                raise QueueGone(GONE)
            _ = await insert_arrivals(connection, drafts, sure=True)  # it does not ask again
        return [Accepted(draft.id) for draft in drafts]
