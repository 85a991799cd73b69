"""Stored headers of messages, read and rewritten when keys change."""

from postroad.ports.private_headers import HeaderRow, Kept
from postroad.stores.postgres.base import PostgresBase


class PostgresHeaders(PostgresBase):
    """What changing keys needs of a store."""

    async def headers_page(self, kept: Kept, after: int, limit: int) -> list[HeaderRow]:
        """The headers of messages with ids after this one."""
        self._check_open()
        rows = await self._side.rows("keys", f"headers_{kept}", (after, limit))
        return [HeaderRow(*row) for row in rows]

    async def write_headers(self, kept: Kept, row: HeaderRow, was: bytes) -> bool:
        """Write a message's headers over those that were read, if it still has those."""
        self._check_open()
        values = (row.id, row.headers, was)
        return bool(await self._side.rows("keys", f"headers_{kept}_write", values))
