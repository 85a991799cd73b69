"""Lists of messages."""

from collections.abc import Sequence
from typing import Final

import msgspec
from asyncpg import Record
from msgspec import Struct

from postroad.model.listing import (
    STATES,
    FoundRows,
    ListRequest,
    ListRow,
    ListScope,
    Shelf,
    gather,
)
from postroad.stores.postgres.base import PostgresBase

RUNGS_MAX: Final = 1_000
SHELVES: Final = {str(shelf): shelf for shelf in Shelf}


class ScopeAnswer(Struct, frozen=True):
    """Queues as (number, tenant, name), and rungs."""

    queues: list[tuple[int, str, str]]
    rungs: list[tuple[int, int, int, int, int, str]]


SCOPE: Final = msgspec.json.Decoder(ScopeAnswer)


class PostgresListing(PostgresBase):
    """Lists messages, on a connection of its own: claims must not wait for a long list."""

    async def list_scope(
        self, tenant: str | None, queue: str | None, prefix: str, most: int
    ) -> ListScope | None:
        """The queues that a filter names, and their rungs."""
        self._check_open()
        if tenant is not None and queue is not None:
            text = await self._lists.one("lists", "list_scope_named", (tenant, queue))
        else:
            values = (tenant, queue, prefix, most + 1)
            text = await self._lists.one("lists", "list_scope_of", values)
        found = SCOPE.decode(text)
        if len(found.queues) > most or len(found.rungs) > RUNGS_MAX:
            return None
        return ListScope.of(found.queues, found.rungs)

    async def list_names(self, queues: Sequence[int], rungs: Sequence[int]) -> ListScope:
        """Some queues and rungs."""
        self._check_open()
        values = (list(queues), list(rungs))
        found = SCOPE.decode(await self._lists.one("lists", "list_names", values))
        return ListScope.of(found.queues, found.rungs)

    async def list_messages(self, request: ListRequest) -> FoundRows:
        """The first messages between two ids."""
        self._check_open()
        queues = None if request.queues is None else list(request.queues)
        rungs = None if request.queues is None else list(request.rungs)
        where = (queues, rungs, list(request.shelves))
        span = (request.low, request.high, request.newest, request.limit)
        rows = await self._lists.rows("lists", "list_messages", (*where, *span))
        bounds = [row["id"] for row in rows if row["owner"] is None]
        return gather((_row(row) for row in rows if row["owner"] is not None), bounds, request)

    async def list_rows(self, ids: Sequence[int]) -> FoundRows:
        """Those of these messages that are unfinished."""
        self._check_open()
        rows = await self._lists.rows("lists", "list_rows", (list(ids),))
        return FoundRows([_row(row) for row in rows], None)

    async def list_index(self, *, start: bool) -> int | None:
        """Do nothing: every record writes the index."""
        del start
        return None

    async def list_indexed_ms(self) -> int:
        """Return the present: every record writes the index."""
        return self.clock.now_ms()


def _row(row: Record) -> ListRow:
    number, owner, shelf, state, *rest = row
    return ListRow(number, owner, SHELVES[shelf], STATES[state], *rest)
