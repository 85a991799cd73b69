"""Contents that are stored once, by their digest, however many messages refer to them."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.blobs import BlobUse, StoredBlob


@runtime_checkable
class Blobs(Protocol):
    """Keeps contents of tenants while messages and campaigns use them."""

    async def blob_put(self, tenant: str, blob: str, content: bytes, now_ms: int) -> None:
        """Store a content under its name, or note that it was put again."""

    async def blob_get(self, tenant: str, blob: str) -> bytes | None:
        """Read a content."""

    async def blob_page(self, tenant: str, after: str, limit: int) -> list[StoredBlob]:
        """List a tenant's contents by name."""

    async def blob_bytes(self, tenant: str) -> int:
        """Return how many bytes a tenant has stored."""

    async def blob_use(self, tenant: str, uses: Sequence[BlobUse], now_ms: int) -> bool:
        """Note who is about to use contents: before the message or the campaign is stored. False
        when one is not there; what was noted is forgotten by a sweep."""

    async def blob_release(self, tenant: str, holder: int, keep: Sequence[str]) -> None:
        """Forget what a message or campaign uses, but for those to keep."""

    async def blob_sizes(self, tenant: str, blobs: Sequence[str]) -> dict[str, int]:
        """Return the sizes of contents that are there."""

    async def blob_drop(self, tenant: str, blob: str, now_ms: int) -> bool:
        """Delete a content unless something uses it; False when it is used or not there."""

    async def blob_sweep(self, after: int, before_ms: int, now_ms: int) -> int | None:
        """Forget the next uses whose holder is gone, and after the last one delete a slice of
        contents that nothing has used since a time. Answers where to go on; None at the end."""
