"""Queries about the whole road. Their cost grows with what is stored, so that they are made
seldom."""

from typing import Protocol

from postroad.model.overview import LaneRow, Overview, QueueRow


class Overviews(Protocol):
    """Lists queues and lanes in pages, and sums up what waits."""

    async def queue_page(self, tenant: str, after: str, limit: int) -> list[QueueRow]:
        """List a tenant's queues by name, from after a name on."""

    async def lane_page(self, tenant: str, after: int, limit: int) -> list[LaneRow]:
        """List a tenant's lanes by number, from after a number on."""

    async def overview(self, tenant: str | None) -> Overview:
        """Count a tenant's messages by where they stand, or everybody's (None)."""
