"""The audit log in the store."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.audit import AuditCursor, AuditEnd, AuditFilter, AuditLine


class AuditLog(Protocol):
    """Keeps a line for each change that somebody asked for."""

    async def audit_add(self, line: AuditLine) -> int:
        """Store a line on the disk, before the change is made; returns its number."""

    async def audit_end(self, number: int, end: AuditEnd) -> None:
        """Complete a line."""

    async def audit_page(
        self, which: AuditFilter, after: AuditCursor, limit: int
    ) -> Sequence[AuditLine]:
        """Read lines, the newest first."""

    async def audit_retain(self, before_ms: int, lines_max: int) -> bool:
        """Delete a slice of the lines from before a time, and the oldest of a tenant that has more
        than `lines_max`; False when there was none."""
