"""The audit log: list and export who changed what."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import TypedDict, Unpack

import msgspec
from msgspec import Struct

from postroad.model.audit import AuditCursor, AuditFilter, AuditLine
from postroad.model.cursors import cursor, number_in, place_in
from postroad.ports.audit import AuditLog
from postroad.verbs.bounding import bounded
from postroad.verbs.paging import PAGE_MAX, check_page, span_ms


class AuditWhere(TypedDict, total=False):
    """Which lines; what is left out does not narrow."""

    since: datetime | None
    until: datetime | None
    actor: str | None
    verb: str | None
    tenant: str | None


class AuditPage(Struct, frozen=True):
    """A page of the audit log, the newest line first. `after` is for the next page; "" is the
    end."""

    lines: tuple[AuditLine, ...]
    after: str = ""


@bounded
class AuditVerbs:
    """List and export who changed what over HTTP, by commands and through the window. What a
    program does by its own road is not in it."""

    def __init__(self, store: AuditLog) -> None:
        self._store = store

    async def list(
        self, *, limit: int = 100, after: str = "", **where: Unpack[AuditWhere]
    ) -> AuditPage:
        """A page of lines, the newest first: of a time, an actor (a token's id, or `local`), a
        verb, a tenant."""
        check_page(limit)
        which = _filter(where)
        query = ("audit", which)
        found = await self._store.audit_page(which, _place(after, query), limit + 1)
        shown = tuple(found[:limit])
        last = shown[-1] if len(found) > limit else None
        return AuditPage(shown, cursor(f"{last.at_ms}-{last.id}", query) if last else "")

    async def export(self, **where: Unpack[AuditWhere]) -> AsyncIterator[bytes]:
        """All lines as NDJSON, a page in each piece."""
        page = await self.list(limit=PAGE_MAX, **where)
        yield msgspec.json.Encoder().encode_lines(page.lines)
        while page.after:
            page = await self.list(limit=PAGE_MAX, after=page.after, **where)
            yield msgspec.json.Encoder().encode_lines(page.lines)


def _filter(where: AuditWhere) -> AuditFilter:
    since_ms, until_ms = span_ms(where.get("since"), where.get("until"))
    return AuditFilter(
        where.get("tenant"), since_ms, until_ms, where.get("actor"), where.get("verb")
    )


def _place(after: str, query: object) -> AuditCursor:
    if not after:
        return AuditCursor()
    at, _, number = place_in(after, query).partition("-")
    return AuditCursor(number_in(at, after), number_in(number, after))
