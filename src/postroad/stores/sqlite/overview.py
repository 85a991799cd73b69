"""Pages and sums over the whole road, read in one transaction."""

from postroad.model.overview import LaneRow, Overview, QueueRow
from postroad.stores.overview import read_count, read_lane, read_queue
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database


class SqliteOverview(SqliteBase):
    """Reads pages of queues and lanes, and sums."""

    async def queue_page(self, tenant: str, after: str, limit: int) -> list[QueueRow]:
        """A tenant's queues by name."""
        values = (tenant, after, limit, self.clock.now_ms())
        rows = await self.read("insight", lambda db: db.all("queue_page", *values))
        return [read_queue(row) for row in rows]

    async def lane_page(self, tenant: str, after: int, limit: int) -> list[LaneRow]:
        """A tenant's lanes by number."""
        values = (tenant, after, limit, self.clock.now_ms())
        rows = await self.read("insight", lambda db: db.all("lane_page", *values))
        return [read_lane(row) for row in rows]

    async def overview(self, tenant: str | None) -> Overview:
        """Sums over the messages of a tenant, or of all."""
        now_ms = self.clock.now_ms()
        return await self.read("insight", lambda db: _overview(db, tenant, now_ms))


def _overview(db: Database, tenant: str | None, now_ms: int) -> Overview:
    counts = tuple(read_count(row) for row in db.all("messages_by_state", tenant, now_ms))
    dead: dict[str, int] = dict(db.all("dead_reasons", tenant))
    trouble = db.one("trouble", tenant) or (0, 0, 0, 0)
    return Overview(counts, dead, *trouble)
