"""Queries about the whole road. With `most` messages are counted up to so many, and the cost is
bounded; else it grows with what is stored, so that they are made seldom."""

from typing import Protocol

from postroad.model.overview import WHOLE_PAGE, LaneRow, Overview, PageOf, QueueRow


class Overviews(Protocol):
    """Lists queues and lanes in pages, and sums up what waits."""

    async def queue_page(
        self, tenant: str, after: str, limit: int, which: PageOf = WHOLE_PAGE
    ) -> list[QueueRow]:
        """List a tenant's queues by name, from after a name on."""

    async def lane_page(
        self, tenant: str, after: int, limit: int, which: PageOf = WHOLE_PAGE
    ) -> list[LaneRow]:
        """List a tenant's lanes by number, from after a number on."""

    async def overview(self, tenant: str | None) -> Overview:
        """Count a tenant's messages by where they stand, or everybody's (None)."""

    async def brief_overview(self, tenant: str, most: int) -> Overview:
        """Count a tenant's messages by bounded look-ups: each figure up to `most`."""
