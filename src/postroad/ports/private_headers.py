"""What a store lets be done with headers that are sealed."""

from typing import Literal, Protocol

Kept = Literal["message", "dead"]
"""Where messages with headers lie: not finished yet, or dead."""
HeaderRow = tuple[int, int, bytes]
"""A message's id, its queue, and its headers as they are stored."""


class HeaderStore(Protocol):
    """A store whose messages have headers. What is sealed is sealed before it comes here."""

    async def headers_page(self, kept: Kept, after: int, limit: int) -> list[HeaderRow]:
        """The headers of messages, from behind an id on."""

    async def write_headers(self, kept: Kept, row: HeaderRow, was: bytes) -> bool:
        """Write a message's headers over those that were read, if it still has those."""
