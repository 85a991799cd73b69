"""Settings of webhook queues: what both databases do alike."""

from typing import Final

import msgspec

from postroad.model.entities import Policy
from postroad.model.outcome import Kind
from postroad.model.webhook import Attempt, HookEntry, HookRow
from postroad.stores.statements import Row, Statements

POLICY: Final = msgspec.json.Decoder(Policy)


class HookTable(Statements):
    """Stores settings of webhooks."""

    async def hook_page(self, tenant: str, after: str, limit: int) -> list[HookEntry]:
        """A tenant's queues that have settings, by name."""
        rows = await self.select("webhooks", "hook_page", tenant, after, limit)
        return [
            HookEntry(name, POLICY.decode(policy), HookRow(*row)) for name, policy, *row in rows
        ]

    async def drop_hook(self, queue: int) -> None:
        """Delete a queue's settings."""
        await self.execute("webhooks", "hook_delete", queue)

    async def hooks_not_under(self, key: str, after: int, limit: int) -> list[HookRow]:
        """Settings that are not sealed with this key, in order of queue."""
        rows = await self.select("webhooks", "hooks_not_under", key, after, limit)
        return [HookRow(*row) for row in rows]

    async def reseal_hook(self, row: HookRow, was: bytes) -> bool:
        """Seal settings with another key, unless they have changed meanwhile."""
        return await self.changes("webhooks", "hook_reseal", row.queue, row.key, row.sealed, was)


def read_attempt(row: Row) -> Attempt:
    """A try from its row."""
    number, started_at, level, outcome, *rest = row
    return Attempt(number, started_at, level, Kind(outcome), *rest)
