"""Pages of queues and lanes, and sums over all of them."""

from postroad.model.overview import LaneRow, Overview, QueueRow
from postroad.stores.overview import read_count, read_lane, read_queue
from postroad.stores.postgres.base import PostgresBase


class PostgresOverview(PostgresBase):
    """Pages of queues and lanes, and sums."""

    async def queue_page(self, tenant: str, after: str, limit: int) -> list[QueueRow]:
        """A tenant's queues by name."""
        self._check_open()
        values = (tenant, after, limit, self.clock.now_ms())
        rows = await self._side.rows("insight", "queue_page", values)
        return [read_queue(tuple(row)) for row in rows]

    async def lane_page(self, tenant: str, after: int, limit: int) -> list[LaneRow]:
        """A tenant's lanes by number."""
        self._check_open()
        values = (tenant, after, limit, self.clock.now_ms())
        rows = await self._side.rows("insight", "lane_page", values)
        return [read_lane(tuple(row)) for row in rows]

    async def overview(self, tenant: str | None) -> Overview:
        """Sums over a tenant's messages, or everybody's."""
        self._check_open()
        values = (tenant, self.clock.now_ms())
        counts = await self._side.rows("insight", "messages_by_state", values)
        dead = await self._side.rows("insight", "dead_reasons", (tenant,))
        (trouble,) = await self._side.rows("insight", "trouble", (tenant,))
        reasons = {str(reason): int(count) for reason, count in dead}
        return Overview(tuple(read_count(tuple(row)) for row in counts), reasons, *trouble)
