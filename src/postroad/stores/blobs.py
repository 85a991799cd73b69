"""Contents that are stored once, by their digest."""

from typing import Final

from postroad.ports.clock import Clock
from postroad.stores.statements import Statements

USES_SLICE: Final = 1_000
BLOBS_SLICE: Final = 20
"""Each may have megabytes."""
FRESH_MS: Final = 86_400_000
"""A use is noted before its message is stored; one of a day has its message, or never will."""


class BlobTable(Statements):
    """Stores contents and their uses."""

    clock: Clock

    async def blob_put(self, tenant: str, blob: str, content: bytes) -> None:
        """Store a content under its digest, or note that it is in use again."""
        values = (tenant, blob, len(content), content, self.clock.now_ms())
        await self.execute("blobs", "blob_put", *values)

    async def blob_get(self, tenant: str, blob: str) -> bytes | None:
        """Read a content."""
        row = await self.first("blobs", "blob_get", tenant, blob)
        return bytes(row[0]) if row else None

    async def blob_bytes(self, tenant: str) -> int:
        """Return how many bytes a tenant has stored."""
        row = await self.first("blobs", "blob_bytes", tenant)
        return int(row[0]) if row else 0

    async def blob_use(self, tenant: str, blob: str, holder: int) -> bool:
        """Note that a message or campaign is about to use a content; False when it is not there."""
        now_ms = self.clock.now_ms()
        if not await self.changes("blobs", "blob_touch", tenant, blob, now_ms):
            return False
        await self.execute("blobs", "blob_use", tenant, blob, holder, now_ms)
        return True

    async def blob_sweep(self, after: int, before_ms: int) -> int | None:
        """Forget uses without a holder, then delete what nothing uses. Answers where to go on."""
        now_ms = self.clock.now_ms()
        last = await self.first("retain", "blob_uses_slice", after, USES_SLICE)
        if last is not None and last[0] is not None:
            await self.execute("retain", "blob_uses_sweep", after, last[0], now_ms - FRESH_MS)
            return int(last[0])
        more = await self.changes("retain", "blob_sweep", before_ms, BLOBS_SLICE)
        return after if more else None
