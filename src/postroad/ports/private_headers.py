"""What a store lets be done with headers that are sealed."""

from typing import Literal, Protocol

from msgspec import Struct

Kept = Literal["message", "dead"]
"""Where messages with headers lie: not finished yet, or dead."""


class HeaderRow(Struct, frozen=True):
    """A message's id, its queue's tenant and name, and its headers as they are stored."""

    id: int
    tenant: str
    queue: str
    headers: bytes


class HeaderStore(Protocol):
    """A store whose messages have headers. What is sealed is sealed before it comes here."""

    async def headers_page(self, kept: Kept, after: int, limit: int) -> list[HeaderRow]:
        """The headers of messages, from behind an id on."""

    async def write_headers(self, kept: Kept, row: HeaderRow, was: bytes) -> bool:
        """Write a message's headers over those that were read, if it still has those."""
