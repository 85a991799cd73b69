"""How much tenants have."""

from postroad.ports.usage import Kept, Slice
from postroad.stores.rabbitmq.base import RabbitBase


class UsageVerbs(RabbitBase):
    """What limits of tenants are checked by."""

    async def tenant_has(self, kept: Kept, tenant: str, most: int) -> int:
        """How many it has, up to a number."""
        return await self.queue_cache.tenant_has(kept, tenant, most)

    async def stored(self, after: int, limit: int) -> Slice:  # noqa: ARG002
        """Messages lie in the broker, which does not know tenants: none are counted."""
        return Slice([], 0)
