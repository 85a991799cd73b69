"""Feeds: messages that are leased by those who read them."""

from collections.abc import Sequence

import msgspec

from postroad.model.entities import Message
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database

LABEL = "feeds"


class SqliteFeeds(SqliteBase):
    """Leases messages of feeds."""

    async def feed_lease(
        self, queue: int, ids: Sequence[int], lease_ms: int, *, whole: bool
    ) -> set[int]:
        """Let messages be due again after a lease."""
        now_ms = self.clock.now_ms()

        def lease(db: Database) -> set[int]:
            free = {number for number in ids if db.one("feed_due", number, queue, now_ms)}
            if whole and len(free) < len(ids):
                return set()
            db.many("feed_lease", [(number, now_ms + lease_ms) for number in free])
            return free

        return await self.write(LABEL, lease, durable=True)

    async def feed_leased(self, queue: int, ids: Sequence[int]) -> list[Message]:
        """Messages that were leased and not acked."""
        wanted = msgspec.json.encode(ids).decode()
        rows = await self.read(LABEL, lambda db: db.all("feed_leased", queue, wanted))
        return [Message(*row) for row in rows]
