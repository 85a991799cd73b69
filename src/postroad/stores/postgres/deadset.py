"""The dead set: pages of it, replays and purges in one transaction."""

from typing import Final, NoReturn

import msgspec
from asyncpg import Record

from postroad.model.dead import DeadFilter, DeadLetter, DeadMessage, Place, ReplayMode, headers_of
from postroad.model.errors import NotDead, UnknownMessage
from postroad.model.ids import to_text
from postroad.model.states import DeadReason
from postroad.model.tries import Try
from postroad.stores.postgres.base import PostgresBase, StoreAnswer, decoder

TRIM_SLICE: Final = 1_000
TRIES: Final = msgspec.json.Decoder(tuple[Try, ...])


class DeadChoice(StoreAnswer, frozen=True):
    """How many were chosen; or one that is not dead, and its state."""

    count: int = 0
    refused: int = 0
    state: str | None = None


CHOSEN: Final = decoder(DeadChoice)


class PostgresDeadSet(PostgresBase):
    """Shows, replays and purges dead messages."""

    async def dead_page(self, which: DeadFilter, after: Place, limit: int) -> list[DeadMessage]:
        """A page, the latest death first."""
        self._check_open()
        values = (*_filters(which), *after, limit)
        return [_message(row) for row in await self._side.rows("dead", "dead_page", values)]

    async def dead_letter(self, tenant: str | None, number: int) -> DeadLetter | None:
        """One dead message with its body, headers and tries."""
        self._check_open()
        rows = await self._side.rows("dead", "dead_letter", (number, tenant))
        if not rows:
            return None
        (row,) = rows
        named = headers_of(row["headers"])
        return DeadLetter(_message(row), named, row["body"], TRIES.decode(row["tries"]))

    async def dead_replay(
        self, which: DeadFilter, mode: ReplayMode, *, count: int, dry_run: bool
    ) -> int:
        """Put dead messages back on their rungs."""
        once = mode is ReplayMode.once
        return await self._choose("replay", which, count, once, dry_run)

    async def dead_purge(self, which: DeadFilter, *, count: int, dry_run: bool) -> int:
        """Delete dead messages and their tries."""
        return await self._choose("purge", which, count, dry_run)

    async def _choose(self, query: str, which: DeadFilter, count: int, *rest: bool) -> int:
        text = await self._one(self._side, "dead", query, *choice_values(which, count), *rest)
        chosen = self._read_answer(text, CHOSEN)
        if chosen.refused:
            _refuse(chosen)
        return chosen.count

    async def dead_trim(self, keep: int) -> int:
        """Delete a slice of the dead beyond so many, those dead longest first."""
        return int(await self._one(self._side, "retain", "trim", keep, TRIM_SLICE))


def choice_values(which: DeadFilter, count: int) -> tuple[object, ...]:
    """Which dead messages a replay or a purge is about, as its first arguments."""
    ids = None if which.ids is None else list(dict.fromkeys(which.ids))
    return (*_filters(which), ids, count)


def _filters(which: DeadFilter) -> tuple[object, ...]:
    filters = (which.tenant, which.queue, which.reason, which.error)
    return (*filters, which.since_ms, which.until_ms)


def _message(row: Record) -> DeadMessage:
    number, tenant, queue, reason, *rest = row
    return DeadMessage(to_text(number), tenant, queue, DeadReason(reason), *rest[:8])


def _refuse(chosen: DeadChoice) -> NoReturn:
    name = to_text(chosen.refused)
    if chosen.state is None:
        raise UnknownMessage(
            f"{name} is not in the dead set, and nowhere else on this road: check the id and its "
            "tenant; it may have been purged, or forgotten for its age"
        )
    raise NotDead(f"{name} is {chosen.state}, not dead: nothing was changed")
