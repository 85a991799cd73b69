"""Bodies of messages."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class StoredBody(Struct, frozen=True):
    """What was sent, as it is stored."""

    id: int
    tenant: str
    queue: str
    priority: int
    order_key: str
    headers: bytes
    body: bytes


class Bodies(Protocol):
    """Reads bodies of messages."""

    async def bodies(self, ids: Sequence[int]) -> list[StoredBody]:
        """Return what is stored of these finished messages: the bodies of delivered ones that are
        kept, and those of dead ones."""

    async def body_of_unfinished(self, number: int) -> StoredBody | None:
        """Return the body of a message that is not finished."""
