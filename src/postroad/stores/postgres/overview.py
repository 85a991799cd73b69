"""Pages of queues and lanes, and sums over all of them."""

from typing import Any, Final

from msgspec.structs import replace

from postroad.model.overview import WHOLE_PAGE, LaneRow, Overview, PageOf, QueueRow
from postroad.stores.overview import LOOKED_AT, read_count, read_lane, read_queue
from postroad.stores.postgres.base import PostgresBase

LISTED_MAX: Final = 5
"""A page is listed again where something of it was deleted meanwhile: it would be short, and taken
for the last one."""


class PostgresOverview(PostgresBase):
    """Pages of queues and lanes, and sums."""

    async def queue_page(
        self, tenant: str, after: str, limit: int, which: PageOf = WHOLE_PAGE
    ) -> list[QueueRow]:
        """A tenant's queues by name."""
        rows = await self._page("queue", (tenant, after, limit), which)
        return [read_queue(tuple(row)) for row in rows]

    async def lane_page(
        self, tenant: str, after: int, limit: int, which: PageOf = WHOLE_PAGE
    ) -> list[LaneRow]:
        """A tenant's lanes by number."""
        rows = await self._page("lane", (tenant, after, limit), which)
        return [read_lane(tuple(row)) for row in rows]

    async def _page(self, kind: str, page: tuple[str, str | int, int], which: PageOf) -> Any:
        self._check_open()
        listed = f"{kind}_trouble_ids" if which.trouble else f"{kind}_ids"
        rows: Any = ()
        for _ in range(LISTED_MAX):
            ids = [row["id"] for row in await self._side.rows("insight", listed, page)]
            values = (ids, self.clock.now_ms(), which.most)
            rows = await self._side.rows("insight", f"{kind}_rows", values)
            if len(rows) == len(ids):
                break
        return rows

    async def overview(self, tenant: str | None) -> Overview:
        """Sums over a tenant's messages, or everybody's."""
        self._check_open()
        values = (tenant, self.clock.now_ms())
        counts = await self._side.rows("insight", "messages_by_state", values)
        dead = await self._side.rows("insight", "dead_reasons", (tenant,))
        (trouble,) = await self._side.rows("insight", "trouble", (tenant,))
        return _sums(counts, dead, trouble)

    async def brief_overview(self, tenant: str, most: int) -> Overview:
        """Sums over a tenant's messages, each up to a number."""
        self._check_open()
        values = (tenant, self.clock.now_ms(), LOOKED_AT, most)
        counts = await self._side.rows("insight", "messages_looked_up", values)
        dead = await self._side.rows("insight", "dead_looked_up", (tenant, most, LOOKED_AT))
        (trouble,) = await self._side.rows("insight", "trouble_looked_up", (tenant, most))
        ((whole,),) = await self._side.rows("insight", "looked_at_all", (tenant, LOOKED_AT, most))
        return replace(_sums(counts, dead, trouble), whole=whole)


def _sums(counts: Any, dead: Any, trouble: Any) -> Overview:
    reasons = {str(reason): int(count) for reason, count in dead}
    return Overview(tuple(read_count(tuple(row)) for row in counts), reasons, *trouble)
