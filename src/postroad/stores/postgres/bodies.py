"""Bodies of messages."""

from collections.abc import Sequence

from postroad.ports.bodies import StoredBody
from postroad.stores.postgres.base import PostgresBase


class PostgresBodies(PostgresBase):
    """Reads bodies."""

    async def bodies(self, ids: Sequence[int]) -> list[StoredBody]:
        """The bodies of finished messages."""
        self._check_open()
        rows = await self._lists.rows("lists", "bodies", (list(ids),))
        return [StoredBody(*row) for row in rows]

    async def body_of_unfinished(self, number: int) -> StoredBody | None:
        """The body of an unfinished message."""
        self._check_open()
        rows = await self._lists.rows("lists", "body_of_unfinished", (number,))
        return StoredBody(*rows[0]) if rows else None
