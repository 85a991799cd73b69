"""Sending without waiting until the message is stored."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.entities import Draft


@runtime_checkable
class HandsOver(Protocol):
    """A store in another process, where not waiting saves time."""

    async def put(self, draft: Draft) -> bool:
        """Store one draft by itself, whatever becomes of others. False when that cannot be done at
        once; nothing is stored then, and `accept` is to be used."""

    def hand_over(self, drafts: Sequence[Draft]) -> None:
        """Write the drafts without waiting: they are stored in a moment, or never."""
