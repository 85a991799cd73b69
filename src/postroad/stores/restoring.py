"""Restored roads: what both databases do alike."""

from typing import Final

from postroad.model.restoring import Restoration, RestoredQueue, RestoredTotals
from postroad.stores.statements import Statements

LABEL: Final = "restoring"


class RestorationTable(Statements):
    """Stores that a road was restored, and counts what it would send."""

    async def restoration(self) -> Restoration | None:
        """What is noted; None if nothing is."""
        row = await self.first(LABEL, "restoration")
        return Restoration(*row) if row else None

    async def restoration_put(self, noted: Restoration) -> None:
        """Note it."""
        values = (noted.backup_at_ms, noted.held_at_ms, noted.reason)
        await self.execute(LABEL, "restoration_put", *values)

    async def restoration_end(self) -> None:
        """Forget it, with its hold."""
        await self.execute(LABEL, "restoration_end")

    async def restoration_told(self) -> None:
        """Forget it, unless the road is held."""
        await self.execute(LABEL, "restoration_told")

    async def restored_running(self, since_ms: int) -> int:
        """How many processes run the road, by their signs of life since a time."""
        return await self._number("restored_running", since_ms)

    async def restored_seen_at_ms(self) -> int:
        """When the road was last at work; 0 if it never was."""
        return await self._number("restored_seen_at")

    async def restored_totals(self, now_ms: int) -> RestoredTotals:
        """Count what would be sent."""
        (row,) = await self.select(LABEL, "restored_totals", now_ms)
        return RestoredTotals(*row)

    async def restored_queues(self, now_ms: int, limit: int) -> list[RestoredQueue]:
        """The queues with most messages that are due."""
        rows = await self.select(LABEL, "restored_queues", now_ms, limit)
        return [RestoredQueue(*row) for row in rows]

    async def _number(self, name: str, *values: int) -> int:
        row = await self.first(LABEL, name, *values)
        return int(row[0]) if row else 0
