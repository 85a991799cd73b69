"""What a store keeps for webhooks: settings of queues, and the log of tries."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.webhook import Attempt, HookEntry, HookRow


class HookStore(Protocol):
    """A store with webhooks. Secrets are sealed before they come here."""

    async def read_hooks(self, queues: Sequence[int]) -> list[HookRow]:
        """Read the settings of those of these queues that have any."""

    async def write_hook(self, row: HookRow, was: bytes | None = None) -> bool:
        """Set a queue's settings. With `was`: only if that is what is sealed there now."""

    async def hook_page(self, tenant: str, after: str, limit: int) -> list[HookEntry]:
        """List a tenant's queues that have settings by name, from after a name on."""

    async def drop_hook(self, queue: int) -> None:
        """Delete a queue's settings."""

    async def hooks_not_under(self, key: str, after: int, limit: int) -> list[HookRow]:
        """List settings that are not sealed with this key, in order of queue."""

    async def attempts(self, tenant: str, message: int) -> list[Attempt]:
        """List the tries of a tenant's message, in order."""
