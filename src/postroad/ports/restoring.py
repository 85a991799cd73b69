"""A store that may have been restored from a backup."""

from typing import Protocol, runtime_checkable

from postroad.model.restoring import Restoration, RestoredQueue, RestoredTotals
from postroad.ports.clock import Clock


@runtime_checkable
class Restorable(Protocol):
    """Knows whether its road was restored, and what that would send."""

    @property
    def clock(self) -> Clock:
        """The store's clock."""

    async def restoration(self) -> Restoration | None:
        """Return what is noted; None if nothing is."""

    async def restoration_put(self, noted: Restoration) -> None:
        """Note it."""

    async def restoration_end(self) -> None:
        """Forget it, with its hold."""

    async def restoration_told(self) -> None:
        """Forget it, unless the road is held."""

    async def restored_running(self, since_ms: int) -> int:
        """Count the processes that run the road, by their signs of life since a time."""

    async def restored_seen_at_ms(self) -> int:
        """Return when the road was last at work; 0 if it never was."""

    async def restored_totals(self, now_ms: int) -> RestoredTotals:
        """Count what would be sent."""

    async def restored_queues(self, now_ms: int, limit: int) -> list[RestoredQueue]:
        """List the queues with most messages that are due."""
