"""Settings of webhook queues, and the log of their tries."""

from collections.abc import Sequence

from postroad.model.record import Result
from postroad.model.webhook import Attempt, HookRow
from postroad.stores.postgres.base import PostgresBase, literal
from postroad.stores.webhooks import HookTable, read_attempt


class PostgresWebhooks(HookTable, PostgresBase):
    """Keeps settings of webhooks and the log of their tries."""

    async def read_hooks(self, queues: Sequence[int]) -> list[HookRow]:
        """The settings of those of these queues that have any."""
        self._check_open()
        rows = await self._side.rows("webhooks", "hooks_read", (list(queues),))
        return [HookRow(*row) for row in rows]

    async def write_hook(self, row: HookRow, was: bytes | None = None) -> bool:
        """Set a queue's settings; with `was` only if that is what is sealed there now."""
        if was is not None:
            return await self.reseal_hook(row, was)
        settings = (row.queue, row.hook, row.key, row.sealed)
        return await self.changes("webhooks", "hook_write", *settings)

    async def attempts(self, tenant: str, message: int) -> list[Attempt]:
        """The tries of a tenant's message, in order."""
        if not await self._one(self._side, "insight", "message_facts", tenant, message):
            return []
        return [read_attempt(row) for row in await self.select("insight", "tries_of", message)]


def note_columns(results: Sequence[Result]) -> tuple[object, ...]:
    """Tries as the arguments of the function note_tries; () when there are none."""
    seen = [(r, r.details) for r in results if r.details is not None]
    if not seen:
        return ()
    return (
        literal([r.message.id for r, _ in seen]),
        literal([r.message.attempts + 1 for r, _ in seen]),
        literal([r.started_ms for r, _ in seen]),
        literal([r.message.level for r, _ in seen]),
        [r.kind for r, _ in seen],
        literal([r.status for r, _ in seen]),
        literal([r.took_ms for r, _ in seen]),
        literal([note.answered_ms for _, note in seen]),
        literal([note.connect_ms for _, note in seen]),
        [note.address for _, note in seen],
        [note.fault for _, note in seen],
        [r.error for r, _ in seen],
        [note.headers for _, note in seen],
        [note.answer for _, note in seen],
    )
