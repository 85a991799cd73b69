"""Bodies of messages."""

from collections.abc import Sequence

import msgspec

from postroad.ports.bodies import StoredBody
from postroad.stores.sqlite.base import SqliteBase


class SqliteBodies(SqliteBase):
    """Reads bodies."""

    async def bodies(self, ids: Sequence[int]) -> list[StoredBody]:
        """The bodies of finished messages."""
        packed = msgspec.json.encode(list(ids)).decode()
        rows = await self.read("lists", lambda db: db.all("bodies", packed))
        return [StoredBody(*row) for row in rows]

    async def body_of_unfinished(self, number: int) -> StoredBody | None:
        """The body of an unfinished message."""
        row = await self.read("lists", lambda db: db.one("body_of_unfinished", number))
        return StoredBody(*row) if row else None
