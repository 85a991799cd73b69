"""Settings of webhook queues, and the log of their tries."""

from collections.abc import Sequence

import msgspec

from postroad.model.webhook import Attempt, HookRow
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.inbox import check_queue
from postroad.stores.sqlite.insight import message_facts
from postroad.stores.webhooks import HookTable, read_attempt


class SqliteWebhooks(HookTable, SqliteBase):
    """Stores settings of webhooks and reads the log of their tries."""

    async def read_hooks(self, queues: Sequence[int]) -> list[HookRow]:
        """The settings of those of these queues that have any."""
        asked = msgspec.json.encode(queues).decode()
        return [HookRow(*row) for row in await self.select("webhooks", "hooks_read", asked)]

    async def write_hook(self, row: HookRow, was: bytes | None = None) -> bool:
        """Set a queue's settings; with `was` only if that is what is sealed there now."""
        if was is not None:
            return await self.reseal_hook(row, was)

        def write(db: Database) -> bool:
            check_queue(db, row.queue)
            db.run("hook_write", row.queue, row.hook, row.key, row.sealed)
            return True

        return await self.write("webhooks", write, durable=True)

    async def attempts(self, tenant: str, message: int) -> list[Attempt]:
        """The tries of a tenant's message, in order."""
        now_ms = self.clock.now_ms()

        def read(db: Database) -> list[Attempt]:
            if message_facts(db, tenant, message, now_ms) is None:
                return []
            return [read_attempt(row) for row in db.all("tries_of", message)]

        return await self.read("insight", read)
