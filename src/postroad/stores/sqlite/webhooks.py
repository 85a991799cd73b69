"""Settings of webhook queues, and the log of their tries."""

from collections.abc import Sequence

import msgspec

from postroad.model.outcome import Kind
from postroad.model.webhook import Attempt, HookEntry, HookRow
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database, Row
from postroad.stores.sqlite.inbox import POLICY_DECODER, check_queue
from postroad.stores.sqlite.insight import message_facts


class SqliteWebhooks(SqliteBase):
    """Stores settings of webhooks and reads the log of their tries."""

    async def read_hooks(self, queues: Sequence[int]) -> list[HookRow]:
        """The settings of those of these queues that have any."""
        asked = msgspec.json.encode(queues).decode()
        return await self.read(
            "webhooks", lambda db: [HookRow(*row) for row in db.all("hooks_read", asked)]
        )

    async def write_hook(self, row: HookRow, was: bytes | None = None) -> bool:
        """Set a queue's settings; with `was` only if that is what is sealed there now."""

        def write(db: Database) -> bool:
            if was is not None:
                return db.changed("hook_reseal", row.queue, row.key, row.sealed, was) == 1
            check_queue(db, row.queue)
            db.run("hook_write", row.queue, row.hook, row.key, row.sealed)
            return True

        return await self.write("webhooks", write, durable=True)

    async def hook_page(self, tenant: str, after: str, limit: int) -> list[HookEntry]:
        """A tenant's queues that have settings, by name."""
        rows = await self.read("webhooks", lambda db: db.all("hook_page", tenant, after, limit))
        return [
            HookEntry(name, POLICY_DECODER.decode(policy).ladder, HookRow(*row))
            for name, policy, *row in rows
        ]

    async def drop_hook(self, queue: int) -> None:
        """Delete a queue's settings."""
        await self.write("webhooks", lambda db: db.run("hook_delete", queue), durable=True)

    async def hooks_not_under(self, key: str, after: int, limit: int) -> list[HookRow]:
        """Settings that are not sealed with this key, in order of queue."""
        return await self.read(
            "webhooks",
            lambda db: [HookRow(*row) for row in db.all("hooks_not_under", key, after, limit)],
        )

    async def attempts(self, tenant: str, message: int) -> list[Attempt]:
        """The tries of a tenant's message, in order."""
        now_ms = self.clock.now_ms()

        def read(db: Database) -> list[Attempt]:
            if message_facts(db, tenant, message, now_ms) is None:
                return []
            return [attempt_of(row) for row in db.all("tries_of", message)]

        return await self.read("insight", read)


def attempt_of(row: Row) -> Attempt:
    """A try from its row."""
    number, started_at, level, outcome, *rest = row
    return Attempt(number, started_at, level, Kind(outcome), *rest)
