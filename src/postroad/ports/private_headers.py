"""How a store reads and rewrites headers that are sealed."""

from typing import Literal, Protocol

from msgspec import Struct

Kept = Literal["message", "dead", "kept_body", "batch_held"]
"""Where messages with headers lie: not finished yet, dead, or delivered with their bodies kept."""


class HeaderRow(Struct, frozen=True):
    """A message's id, its queue's tenant and name, and its headers as they are stored."""

    id: int
    tenant: str
    queue: str
    headers: bytes


class HeaderStore(Protocol):
    """A store whose messages have headers. Secret ones are sealed before they come here."""

    async def headers_page(self, kept: Kept, after: int, limit: int) -> list[HeaderRow]:
        """List the headers of messages, from after an id on."""

    async def write_headers(self, kept: Kept, row: HeaderRow, was: bytes) -> bool:
        """Replace a message's headers, if they are still those that were read."""
