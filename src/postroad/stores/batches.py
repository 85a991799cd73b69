"""Batches as rows: what both databases do alike."""

from postroad.model.batch import BatchState, BatchStatus, batch_text
from postroad.stores.statements import Row, Statements

LABEL = "batches"


class BatchTables(Statements):
    """Reads batches."""

    async def batch_page(self, tenant: str, before: int, limit: int) -> list[BatchStatus]:
        """Batches of a tenant, the newest first."""
        rows = await self.select(LABEL, "batch_page", tenant, before, limit)
        return [_status(row) for row in rows]

    async def batch_one(self, tenant: str, number: int) -> BatchStatus | None:
        """One batch of a tenant."""
        rows = await self.select(LABEL, "batch_one", tenant, number)
        return _status(rows[0]) if rows else None


def _status(row: Row) -> BatchStatus:
    number, tenant, state, parent, *rest = row
    total, delivered, dead, cancelled, made_ms, ended_ms, sent = rest
    counts = (total, delivered, dead, cancelled, made_ms, ended_ms)
    shown = batch_text(parent) if parent else ""
    return BatchStatus(batch_text(number), tenant, BatchState(state), *counts, sent, shown)
