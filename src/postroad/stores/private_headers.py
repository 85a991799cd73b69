"""Stored headers of messages, read and replaced."""

from postroad.ports.private_headers import HeaderRow, Kept
from postroad.stores.statements import Statements


class StoredHeaders(Statements):
    """Reads and replaces headers when keys change."""

    async def headers_page(self, kept: Kept, after: int, limit: int) -> list[HeaderRow]:
        """The headers of messages after an id."""
        rows = await self.select("keys", f"headers_{kept}", after, limit)
        return [HeaderRow(*row) for row in rows]

    async def write_headers(self, kept: Kept, row: HeaderRow, was: bytes) -> bool:
        """Replace a message's headers, unless they have changed since they were read."""
        return await self.changes("keys", f"headers_{kept}_write", row.id, row.headers, was)
