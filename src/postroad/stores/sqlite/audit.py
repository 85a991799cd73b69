"""The audit log."""

from collections.abc import Sequence
from typing import Final

from postroad.model.audit import AuditCursor, AuditEnd, AuditFilter, AuditLine
from postroad.stores.audit_rows import end_values, line_values, page_values, read_line
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database

SLICE: Final = 1_000


class SqliteAudit(SqliteBase):
    """Stores the audit log."""

    async def audit_add(self, line: AuditLine) -> int:
        """Insert a line, on the disk before this answers."""
        values = line_values(line)
        return await self.write(
            "audit", lambda db: db.number("audit_insert", *values) or 0, durable=True
        )

    async def audit_end(self, number: int, end: AuditEnd) -> None:
        """Complete a line; a loss of power may leave it as it was asked for."""
        values = end_values(number, end)
        await self.write("audit", lambda db: db.run("audit_end", *values))

    async def audit_page(
        self, which: AuditFilter, after: AuditCursor, limit: int
    ) -> Sequence[AuditLine]:
        """Lines, the newest first."""
        query = "audit_page" if which.tenant is None else "audit_page_of_tenant"
        values = page_values(which, after, limit)
        return [
            read_line(row) for row in await self.read("audit", lambda db: db.all(query, *values))
        ]

    async def audit_retain(self, audit_ms: int, lines_max: int) -> int:
        """Delete a slice of lines that are too old or too many."""
        crowded = await self.read("retain", lambda db: db.all("audit_crowded", lines_max))
        before_ms = self.clock.now_ms() - audit_ms

        def work(db: Database) -> int:
            gone = db.changed("audit_retain", before_ms, SLICE)
            for tenant, more in crowded:
                gone += db.changed("audit_trim", tenant, min(more, SLICE))
            return gone

        return await self.write("retain", work)
