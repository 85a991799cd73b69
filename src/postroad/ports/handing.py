"""Sending without waiting until it is stored."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.entities import Draft


@runtime_checkable
class HandsOver(Protocol):
    """A store that is somewhere else, so that there is something to be gained."""

    async def put(self, draft: Draft) -> bool:
        """Store one for itself, whatever becomes of others. False when that cannot be done at
        once, and nothing is stored: `accept` is for it then."""

    def hand_over(self, drafts: Sequence[Draft]) -> None:
        """Write them, and do not wait: they are stored in a moment, or never."""
