"""Questions about the whole road. They cost with what there is, so nobody asks them often."""

from typing import Protocol

from postroad.model.overview import LaneRow, Overview, QueueRow


class Overviews(Protocol):
    """Pages of queues and lanes, and sums."""

    async def queue_page(self, tenant: str, after: str, limit: int) -> list[QueueRow]:
        """A tenant's queues by name, from after a name on."""

    async def lane_page(self, tenant: str, after: int, limit: int) -> list[LaneRow]:
        """A tenant's lanes by number, from after a number on."""

    async def overview(self, tenant: str | None) -> Overview:
        """How a tenant's messages stand, or everybody's (None)."""
