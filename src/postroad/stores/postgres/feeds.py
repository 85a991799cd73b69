"""Feeds: messages that are leased by those who read them."""

from collections.abc import Sequence

from postroad.model.entities import Message
from postroad.stores.postgres.base import PostgresBase, literal

LABEL = "feeds"


class PostgresFeeds(PostgresBase):
    """Leases messages of feeds."""

    async def feed_lease(
        self, queue: int, ids: Sequence[int], lease_ms: int, *, whole: bool
    ) -> set[int]:
        """Let messages be due again after a lease."""
        rows = await self.select(LABEL, "feed_lease", queue, literal(ids), lease_ms, whole)
        return {number for (number,) in rows}

    async def feed_leased(self, queue: int, ids: Sequence[int]) -> list[Message]:
        """Messages that were leased and not acked."""
        rows = await self.select(LABEL, "feed_leased", queue, literal(ids))
        return [Message(*row) for row in rows]
