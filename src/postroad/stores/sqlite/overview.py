"""Pages and sums over the whole road, read in one transaction."""

import msgspec
from msgspec.structs import replace

from postroad.model.overview import WHOLE_PAGE, LaneRow, Overview, PageOf, QueueRow
from postroad.stores.overview import LOOKED_AT, read_count, read_lane, read_queue
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database, Row


class SqliteOverview(SqliteBase):
    """Reads pages of queues and lanes, and sums."""

    async def queue_page(
        self, tenant: str, after: str, limit: int, which: PageOf = WHOLE_PAGE
    ) -> list[QueueRow]:
        """A tenant's queues by name."""
        rows = await self._page("queue", (tenant, after, limit), which)
        return [read_queue(row) for row in rows]

    async def lane_page(
        self, tenant: str, after: int, limit: int, which: PageOf = WHOLE_PAGE
    ) -> list[LaneRow]:
        """A tenant's lanes by number."""
        rows = await self._page("lane", (tenant, after, limit), which)
        return [read_lane(row) for row in rows]

    async def _page(self, kind: str, page: tuple[str, str | int, int], which: PageOf) -> list[Row]:
        now_ms = self.clock.now_ms()
        listed = f"{kind}_trouble_ids" if which.trouble else f"{kind}_ids"

        def read(db: Database) -> list[Row]:
            ids = [number for (number,) in db.all(listed, *page)]
            asked = msgspec.json.encode(ids).decode()
            return db.all(f"{kind}_rows", asked, now_ms, which.most)

        return await self.read("insight", read)

    async def overview(self, tenant: str | None) -> Overview:
        """Sums over the messages of a tenant, or of all."""
        now_ms = self.clock.now_ms()
        return await self.read("insight", lambda db: _overview(db, tenant, now_ms))

    async def brief_overview(self, tenant: str, most: int) -> Overview:
        """Sums over a tenant's messages, each up to a number."""
        now_ms = self.clock.now_ms()
        return await self.read("insight", lambda db: _brief(db, tenant, most, now_ms))


def _overview(db: Database, tenant: str | None, now_ms: int) -> Overview:
    counts = tuple(read_count(row) for row in db.all("messages_by_state", tenant, now_ms))
    dead: dict[str, int] = dict(db.all("dead_reasons", tenant))
    trouble = db.one("trouble", tenant) or (0, 0, 0, 0, 0)
    return Overview(counts, dead, *trouble)


def _brief(db: Database, tenant: str, most: int, now_ms: int) -> Overview:
    rows = db.all("messages_looked_up", tenant, now_ms, LOOKED_AT, most)
    dead: dict[str, int] = dict(db.all("dead_looked_up", tenant, most, LOOKED_AT))
    trouble = db.one("trouble_looked_up", tenant, most) or (0, 0, 0, 0, 0)
    found = Overview(tuple(read_count(row) for row in rows), dead, *trouble)
    return replace(found, whole=bool(db.number("looked_at_all", tenant, LOOKED_AT, most)))
