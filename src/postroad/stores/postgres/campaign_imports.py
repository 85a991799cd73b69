"""How recipients get into a campaign in PostgreSQL, and the connections that campaigns use."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count, islice
from typing import Any, Final

import asyncpg

from postroad.model.campaign import WrongState
from postroad.ports.campaigns import Import, NewRows
from postroad.stores.campaign_rows import CHANGED, NOT_OURS, same_file, text
from postroad.stores.campaign_tables import CampaignTables
from postroad.stores.postgres.base import PostgresBase
from postroad.stores.postgres.connections import QUERIES, Raw

COLUMNS: Final = ("campaign_id", "n", "line", "recipient", "fields")
PIECE: Final = 1_000
"""Rows in one message of COPY."""
ANSWER_S: Final = 120.0
"""Counting or settling all recipients of a large campaign takes longer than other statements."""
Rows = list[Any]
Insert = Callable[[Raw, int, int, NewRows], Awaitable[list[int]]]


class CampaignConnections(CampaignTables):
    """Three connections of the store: for verbs, imports and logging; for what senders begin; for
    their results. Neither of the last two waits for the other."""

    def __init__(self, store: PostgresBase) -> None:
        self._store = store
        self._side, self._hot, self._results = (
            store.own_line(name, ANSWER_S) for name in ("campaigns", "intents", "results")
        )
        super().__init__(self._side)

    def hear(self, call: Callable[[], None]) -> None:
        """Call it when there may be something new to do, in any process."""
        self._store.hear_own("campaigns", call)

    async def ring(self) -> None:
        """Tell all processes that there is something new to do."""
        await self._store.ring_own("campaigns")

    def _now(self) -> tuple[int, ...]:
        return ()

    async def _one(self, name: str, *values: object) -> Any:
        return (await self._side.rows("campaigns", name, values))[0]


class PostgresImports(CampaignConnections):
    """Imports: how recipients get into a campaign."""

    async def open_import(self, new: Import) -> Import:
        """Begin an import, or go on with the one of the same file."""
        columns = text(new.columns)
        await self._sql.execute("campaigns", "import_open", new.campaign, new.digest, columns)
        current = await self.importing(new.campaign)
        if current is None:
            raise WrongState(CHANGED)
        same_file(current, new)
        return current

    async def load(self, current: Import, rows: NewRows) -> list[int]:
        """Store rows by COPY, which refuses all when one is there already; then row by row, in one
        statement."""
        return await self._side.work("campaigns", lambda raw: _load(raw, current, rows))

    async def end_import(self, campaign: int, *, keep: bool) -> bool:
        """End an import: keep all that it has brought, or delete it."""
        name = "import_end" if keep else "import_undo"
        return await self._side.work("campaigns", lambda raw: locked(raw, name, campaign))


async def locked(raw: Raw, name: str, campaign: int, *values: object) -> bool:
    """Run a query that sees all that the last owner of the campaign has written: a statement sees
    what was there when it began, so the wait for a lock has one of its own."""
    async with raw.transaction():
        await raw.execute(QUERIES["campaign_lock"], campaign)
        return bool(await raw.fetchval(QUERIES[name], campaign, *values, timeout=ANSWER_S))


async def _load(raw: Raw, current: Import, rows: NewRows) -> list[int]:
    try:
        return await _loaded(raw, current, rows, _copy)
    except asyncpg.UniqueViolationError:
        return await _loaded(raw, current, rows, _sift)


async def _loaded(raw: Raw, current: Import, rows: NewRows, insert: Insert) -> list[int]:
    """Rows and how far the import has come, in one transaction that waits for no disk: the one
    that ends the import does, for all before it."""
    async with raw.transaction():
        standing = (current.campaign, current.digest, current.line)
        found = await raw.fetchrow(QUERIES["import_last_n"], *standing)
        if found is None:
            raise WrongState(NOT_OURS)
        doubles = await insert(raw, current.campaign, found["last_n"], rows)
        kept = len(rows.lines) - len(doubles)
        values = (current.campaign, rows.lines[-1], kept, len(doubles))
        await raw.execute(QUERIES["import_go"], *values)
    return doubles


async def _copy(raw: Raw, campaign: int, first: int, rows: NewRows) -> list[int]:
    """Copy all rows, or raise UniqueViolationError."""
    text = _copied(campaign, first, rows)
    await raw.copy_to_table(
        "campaign_message", schema_name="postroad", columns=COLUMNS, source=text
    )
    return []


async def _sift(raw: Raw, campaign: int, first: int, rows: NewRows) -> list[int]:
    """Those that are not there yet; answers the lines of the others."""
    values = (campaign, first, rows.lines, rows.recipients, rows.fields)
    found: list[int] = await raw.fetchval(QUERIES["import_load"], *values, timeout=ANSWER_S)
    return found


async def _copied(campaign: int, first: int, rows: NewRows) -> AsyncIterator[bytes]:
    """COPY's text, in pieces: the server takes one in while the next is written."""
    numbered = zip(count(first + 1), rows.lines, rows.recipients, rows.fields)
    while part := tuple(islice(numbered, PIECE)):
        text = "".join([f"{campaign}\t{n}\t{line}\t{to}\t{cells}\n" for n, line, to, cells in part])
        yield text.replace("\\", r"\\").encode()
