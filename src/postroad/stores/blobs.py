"""Contents that are stored once: what both databases do alike."""

from collections.abc import Sequence
from typing import Final

import msgspec

from postroad.model.blobs import BlobUse, StoredBlob
from postroad.stores.statements import Statements

USES_SLICE: Final = 1_000
BLOBS_SLICE: Final = 20
"""Each may have megabytes."""
FRESH_MS: Final = 600_000
"""A use is noted just before its message is stored: an older one has its message, or never will."""


class BlobTable(Statements):
    """Stores contents and their uses."""

    async def blob_put(self, tenant: str, blob: str, content: bytes, now_ms: int) -> None:
        """Store a content, or note that it was put again."""
        values = (tenant, blob, len(content), now_ms, content)
        await self.execute("blobs", "blob_put", *values)

    async def blob_get(self, tenant: str, blob: str) -> bytes | None:
        """Read a content."""
        row = await self.first("blobs", "blob_get", tenant, blob)
        return bytes(row[0]) if row else None

    async def blob_page(self, tenant: str, after: str, limit: int) -> list[StoredBlob]:
        """A tenant's contents by name."""
        rows = await self.select("blobs", "blob_page", tenant, after, limit)
        return [StoredBlob(*row) for row in rows]

    async def blob_bytes(self, tenant: str) -> int:
        """How many bytes a tenant has stored."""
        row = await self.first("blobs", "blob_bytes", tenant)
        return int(row[0]) if row else 0

    async def blob_use(self, tenant: str, uses: Sequence[BlobUse], now_ms: int) -> bool:
        """Note who uses contents; False when one is not there."""
        pairs = use_pairs(uses)
        held = await self.count("blobs", "blob_use", tenant, listed(pairs), now_ms)
        await self.execute(
            "blobs", "blob_touch", tenant, listed([blob for blob, _ in pairs]), now_ms
        )
        return held == len(pairs)

    async def blob_release(self, tenant: str, holder: int, keep: Sequence[str]) -> None:
        """Forget what a holder uses, but for some."""
        await self.execute("blobs", "blob_release", tenant, holder, listed(list(keep)))

    async def blob_sizes(self, tenant: str, blobs: Sequence[str]) -> dict[str, int]:
        """The sizes of contents that are there."""
        rows = await self.select("blobs", "blob_sizes", tenant, listed(sorted(set(blobs))))
        return dict(rows)

    async def blob_drop(self, tenant: str, blob: str, now_ms: int) -> bool:
        """Delete a content, unless something uses it."""
        old_ms = now_ms - FRESH_MS
        await self.execute("blobs", "blob_uses_forget", tenant, blob, old_ms)
        return await self.changes("blobs", "blob_drop", tenant, blob)

    async def blob_sweep(self, after: int, before_ms: int, now_ms: int) -> int | None:
        """Forget uses without a holder, then delete what nothing uses. Answers where to go on."""
        row = await self.first("retain", "blob_uses_slice", after, USES_SLICE)
        last = row[0] if row else None
        if last is not None:
            old_ms = now_ms - FRESH_MS
            await self.execute("retain", "blob_uses_sweep", after, last, old_ms)
            return int(last)
        more = await self.changes("retain", "blobs_sweep", before_ms, BLOBS_SLICE)
        return after if more else None


def use_pairs(uses: Sequence[BlobUse]) -> list[tuple[str, int]]:
    """Who uses what, each once."""
    return sorted({(use.blob, use.holder) for use in uses})


def listed(values: object) -> str:
    """Return values as a JSON list."""
    return msgspec.json.encode(values).decode()
