"""The audit log."""

from collections.abc import Sequence
from typing import Final

import msgspec

from postroad.model.audit import AuditCursor, AuditEnd, AuditFilter, AuditLine, AuditOutcome
from postroad.stores.statements import Row, Statements, Value

SLICE: Final = 1_000
WHAT: Final = msgspec.json.Decoder(dict[str, str])


class AuditTable(Statements):
    """Stores the audit log."""

    async def audit_add(self, line: AuditLine) -> int:
        """Store a line; answers its number."""
        return await self.insert("audit", "audit_insert", *line_values(line))

    async def audit_end(self, number: int, end: AuditEnd) -> None:
        """Complete a line."""
        came = (end.outcome, end.status, end.count, _text(end.what))
        await self.execute("audit", "audit_end", number, end.at_ms, *came)

    async def audit_page(
        self, which: AuditFilter, after: AuditCursor, limit: int
    ) -> Sequence[AuditLine]:
        """Lines, the newest first."""
        query = "audit_page" if which.tenant is None else "audit_page_of_tenant"
        times = (which.since_ms, which.until_ms)
        values = (which.tenant, *times, which.actor, which.verb, after.at_ms, after.id, limit)
        return [_line(row) for row in await self.select("audit", query, *values)]

    async def audit_retain(self, before_ms: int, lines_max: int) -> bool:
        """Delete a slice of lines that are too old or too many; False when none is left."""
        more = await self.changes("retain", "audit_retain", before_ms, SLICE)
        for tenant, extra in await self.select("retain", "audit_crowded", lines_max):
            more |= await self.changes("retain", "audit_trim", tenant, min(extra, SLICE))
        return more


def line_values(line: AuditLine) -> tuple[Value, ...]:
    """A line as the values of its row, without its number."""
    who = (line.tenant, line.actor, line.name, line.address)
    came = (line.outcome, line.status, line.count)
    return (line.at_ms, line.ended_at_ms or 0, *who, line.verb, _text(line.what), *came)


def _line(row: Row) -> AuditLine:
    number, at_ms, ended_ms, tenant, actor, name, address, verb, what, outcome, *came = row
    when, who = (at_ms, ended_ms or None), (tenant, actor, name, address)
    return AuditLine(number, *when, *who, verb, WHAT.decode(what), AuditOutcome(outcome), *came)


def _text(what: dict[str, str]) -> str:
    return msgspec.json.encode(what).decode()
