"""Which messages name which recipients."""

from collections.abc import Sequence
from typing import Protocol


class Recipients(Protocol):
    """Finds the recipients that messages name, wherever the messages are."""

    async def recipients_of(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the recipients of those of these messages that name one."""

    async def listed_to(
        self, tenant: str | None, recipient: str, ids: tuple[int, int], limit: int, *, newest: bool
    ) -> list[int]:
        """Return the messages of a tenant, or of all, to a recipient between two ids, the newest or
        the oldest first."""

    async def sent_to(self, tenant: str, recipient: str, after: int, limit: int) -> list[int]:
        """Return the messages of a tenant to a recipient, from after an id on, in order."""
