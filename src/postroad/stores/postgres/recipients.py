"""Recipients that messages name."""

from collections.abc import Sequence

from postroad.stores.postgres.base import PostgresBase


class PostgresRecipients(PostgresBase):
    """Finds recipients of messages, and messages to recipients."""

    async def recipients_of(self, ids: Sequence[int]) -> dict[int, str]:
        """The recipients of those that name one."""
        self._check_open()
        rows = await self._lists.rows("lists", "recipients_of", (list(ids),))
        return {row[0]: row[1] for row in rows}

    async def listed_to(
        self, tenant: str | None, recipient: str, ids: tuple[int, int], limit: int, *, newest: bool
    ) -> list[int]:
        """The messages to a recipient between two ids."""
        self._check_open()
        name = "last_sent_to" if newest else "first_sent_to"
        rows = await self._lists.rows("lists", name, (tenant, recipient, *ids, limit))
        return [row[0] for row in rows]

    async def sent_to(self, tenant: str, recipient: str, after: int, limit: int) -> list[int]:
        """The messages to a recipient."""
        self._check_open()
        rows = await self._lists.rows("lists", "sent_to", (tenant, recipient, after, limit))
        return [row[0] for row in rows]
