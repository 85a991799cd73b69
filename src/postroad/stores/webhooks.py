"""Settings of webhook queues: what both databases do alike."""

from postroad.model.outcome import Kind
from postroad.model.webhook import Attempt, HookRow
from postroad.stores.statements import Row, Statements


class HookTable(Statements):
    """Stores settings of webhooks."""

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
