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
        rows = await self.select(LABEL, "batch_page", tenant, number + 1, 1)
        return next((_status(row) for row in rows if row[0] == number), None)

    async def batch_members(self, number: int, after: int, limit: int) -> list[tuple[int, bool]]:
        """Members of a batch that have not ended, after one, and whether each is a batch."""
        rows = await self.select(LABEL, "batch_members", number, after, limit)
        return [(member, bool(nested)) for member, nested in rows]

    async def batch_stop(self, tenant: str, number: int) -> None:
        """Say that `then` does not follow a batch of which something was not delivered."""
        await self.execute(LABEL, "batch_stop", tenant, number)


def _status(row: Row) -> BatchStatus:
    number, tenant, state, parent, *rest = row
    total, delivered, dead, cancelled, made_ms, ended_ms, sent, following = rest
    counts = (total, delivered, dead, cancelled, made_ms, ended_ms)
    near = [batch_text(one) if one else "" for one in (parent, following)]
    return BatchStatus(batch_text(number), tenant, BatchState(state), *counts, sent, *near)
