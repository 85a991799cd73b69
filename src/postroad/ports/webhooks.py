"""What a store keeps for webhooks: settings of queues, and the log of tries."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.webhook import Attempt, HookRow


class HookStore(Protocol):
    """A store with webhooks. What is sealed is sealed before it comes here."""

    async def read_hooks(self, queues: Sequence[int]) -> list[HookRow]:
        """The settings of those of these queues that have any."""

    async def write_hook(self, row: HookRow, was: bytes | None = None) -> bool:
        """Set a queue's settings. With `was`: only if that is what is sealed there now."""

    async def hook_page(self, tenant: str, after: str, limit: int) -> list[tuple[str, HookRow]]:
        """A tenant's queues that have settings, by name, from behind a name on."""

    async def drop_hook(self, queue: int) -> None:
        """Forget a queue's settings."""

    async def hooks_not_under(self, key: str, after: int, limit: int) -> list[HookRow]:
        """Settings that are not sealed with this key, in order of queue."""

    async def attempts(self, tenant: str, message: int) -> list[Attempt]:
        """The tries of a tenant's message, in order."""
