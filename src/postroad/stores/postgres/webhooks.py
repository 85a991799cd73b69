"""Settings of webhook queues, and the log of their tries."""

from collections.abc import Sequence

from asyncpg import Record

from postroad.model.outcome import Kind
from postroad.model.record import Result
from postroad.model.webhook import Attempt, HookEntry, HookRow
from postroad.stores.postgres.base import PostgresBase, literal
from postroad.stores.postgres.leases import policy_of


class PostgresWebhooks(PostgresBase):
    """Keeps settings of webhooks and the log of their tries."""

    async def read_hooks(self, queues: Sequence[int]) -> list[HookRow]:
        """The settings of those of these queues that have any."""
        self._check_open()
        rows = await self._side.rows("webhooks", "hooks_read", (list(queues),))
        return [HookRow(*row) for row in rows]

    async def write_hook(self, row: HookRow, was: bytes | None = None) -> bool:
        """Set a queue's settings; with `was` only if that is what is sealed there now."""
        self._check_open()
        if was is not None:
            values = (row.queue, row.key, row.sealed, was)
            return bool(await self._side.rows("webhooks", "hook_reseal", values))
        settings = (row.queue, row.hook, row.key, row.sealed)
        return bool(await self._side.rows("webhooks", "hook_write", settings))

    async def hook_page(self, tenant: str, after: str, limit: int) -> list[HookEntry]:
        """A tenant's queues that have settings, by name."""
        self._check_open()
        rows = await self._side.rows("webhooks", "hook_page", (tenant, after, limit))
        return [
            HookEntry(name, policy_of(policy).ladder, HookRow(*row)) for name, policy, *row in rows
        ]

    async def drop_hook(self, queue: int) -> None:
        """Delete a queue's settings."""
        self._check_open()
        _ = await self._side.rows("webhooks", "hook_delete", (queue,))  # it gives no rows

    async def hooks_not_under(self, key: str, after: int, limit: int) -> list[HookRow]:
        """Settings that are not sealed with this key, in order of queue."""
        self._check_open()
        rows = await self._side.rows("webhooks", "hooks_not_under", (key, after, limit))
        return [HookRow(*row) for row in rows]

    async def attempts(self, tenant: str, message: int) -> list[Attempt]:
        """The tries of a tenant's message, in order."""
        if not await self._one(self._side, "insight", "message_facts", tenant, message):
            return []
        rows = await self._side.rows("insight", "tries_of", (message,))
        return [_attempt(row) for row in rows]


def _attempt(row: Record) -> Attempt:
    number, started_at, level, outcome, *rest = row
    return Attempt(number, started_at, level, Kind(outcome), *rest)


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
        [note.address for _, note in seen],
        [note.fault for _, note in seen],
        [r.error for r, _ in seen],
        [note.headers for _, note in seen],
        [note.answer for _, note in seen],
    )
