"""Recipients that messages name."""

from collections.abc import Sequence

import msgspec

from postroad.stores.sqlite.base import SqliteBase


class SqliteRecipients(SqliteBase):
    """Finds recipients of messages, and messages to recipients."""

    async def recipients_of(self, ids: Sequence[int]) -> dict[int, str]:
        """The recipients of those that name one."""
        packed = msgspec.json.encode(list(ids)).decode()
        return dict(await self.read("lists", lambda db: db.all("recipients_of", packed)))

    async def listed_to(
        self, tenant: str | None, recipient: str, ids: tuple[int, int], limit: int, *, newest: bool
    ) -> list[int]:
        """The messages to a recipient between two ids."""
        name, values = "last_sent_to" if newest else "first_sent_to", (tenant, recipient, *ids)
        rows = await self.read("lists", lambda db: db.all(name, *values, limit))
        return [number for (number,) in rows]

    async def sent_to(self, tenant: str, recipient: str, after: int, limit: int) -> list[int]:
        """The messages to a recipient."""
        values = (tenant, recipient, after, limit)
        rows = await self.read("lists", lambda db: db.all("sent_to", *values))
        return [number for (number,) in rows]
