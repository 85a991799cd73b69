"""The audit log."""

from collections.abc import Sequence
from typing import Final

from postroad.model.audit import AuditCursor, AuditEnd, AuditFilter, AuditLine
from postroad.stores.audit_rows import end_values, line_values, page_values, read_line
from postroad.stores.postgres.base import PostgresBase

SLICE: Final = 1_000


class PostgresAudit(PostgresBase):
    """Keeps the audit log."""

    async def audit_add(self, line: AuditLine) -> int:
        """Keep a line."""
        return int(await self._one(self._side, "audit", "audit_insert", *line_values(line)))

    async def audit_end(self, number: int, end: AuditEnd) -> None:
        """Complete a line."""
        self._check_open()
        # It gives no rows.
        _ = await self._side.rows("audit", "audit_end", end_values(number, end))

    async def audit_page(
        self, which: AuditFilter, after: AuditCursor, limit: int
    ) -> Sequence[AuditLine]:
        """Lines, the newest first."""
        self._check_open()
        query = "audit_page" if which.tenant is None else "audit_page_of_tenant"
        rows = await self._side.rows("audit", query, page_values(which, after, limit))
        return [read_line(tuple(row)) for row in rows]

    async def audit_retain(self, audit_ms: int, lines_max: int) -> int:
        """Delete a slice of lines that are too old or too many."""
        values = (audit_ms, lines_max, SLICE)
        return int(await self._one(self._side, "retain", "audit_retain", *values))
