"""Finds out which recipients of a campaign are on a suppression list, before it starts."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from postroad.model.suppression import Reason
from postroad.ports.suppressions import SuppressionLists

ASKED: Final = 2_000
"""Recipients in one statement; others are served between two of them."""
SHOWN: Final = 100


class SuppressedRecipient(Struct, frozen=True):
    """A recipient that is not sent to: its line in the file, or its number in the campaign."""

    n: int
    recipient: str
    reason: str


class SuppressedTally:
    """Counts recipients of one tenant that are on a list, and keeps the first hundred."""

    def __init__(self, lists: SuppressionLists, tenant: str) -> None:
        self._lists = lists
        self._tenant = tenant
        self.count = 0
        self.shown: list[SuppressedRecipient] = []

    async def look(self, numbers: Sequence[int], recipients: Sequence[str]) -> dict[str, Reason]:
        """Look for recipients on the lists; returns those who are there, and why."""
        found: dict[str, Reason] = {}
        for first in range(0, len(recipients), ASKED):
            asked = list(recipients[first : first + ASKED])
            found |= await self._lists.suppressed(self._tenant, asked)
        if not found:
            return found
        for n, recipient in zip(numbers, recipients, strict=True):
            if recipient in found:
                self.count += 1
                if len(self.shown) < SHOWN:
                    self.shown.append(SuppressedRecipient(n, recipient, found[recipient]))
        return found
