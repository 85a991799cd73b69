"""The audit log: list and export who changed what."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Final, TypedDict, Unpack

import msgspec
from msgspec import Struct

from postroad.model.audit import AuditCursor, AuditFilter, AuditLine
from postroad.model.errors import BadInput, BadTime
from postroad.model.states import NEVER
from postroad.ports.audit import AuditLog
from postroad.verbs.bounding import bounded
from postroad.verbs.paging import PAGE_MAX, check_page, moment_ms

DIGITS_MAX: Final = 19


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
        found = await self._store.audit_page(which, _cursor(after), limit + 1)
        shown = tuple(found[:limit])
        last = shown[-1] if len(found) > limit else None
        return AuditPage(shown, f"{last.at_ms}-{last.id}" if last else "")

    async def export(self, **where: Unpack[AuditWhere]) -> AsyncIterator[bytes]:
        """All lines as NDJSON, a page in each piece."""
        after = "-"
        while after:
            page = await self.list(limit=PAGE_MAX, after=after.strip("-"), **where)
            yield msgspec.json.Encoder().encode_lines(page.lines)
            after = page.after


def _filter(where: AuditWhere) -> AuditFilter:
    since_ms = moment_ms(where.get("since"), "since", 0)
    until_ms = moment_ms(where.get("until"), "until", NEVER)
    if since_ms >= until_ms:
        raise BadTime("since is not before until: give the earlier time as since")
    return AuditFilter(
        where.get("tenant"), since_ms, until_ms, where.get("actor"), where.get("verb")
    )


def _cursor(after: str) -> AuditCursor:
    if not after:
        return AuditCursor()
    parts = after.split("-")
    if len(parts) != 2 or not all(
        part.isascii() and part.isdecimal() and len(part) <= DIGITS_MAX for part in parts
    ):
        raise BadInput(f"after={after[:40]!r}: give the `after` of the page before")
    at_ms, number = (min(int(part), NEVER) for part in parts)
    return AuditCursor(at_ms, number)
