"""Contents that are stored once, by their digest, however many messages refer to them."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Blobs(Protocol):
    """Keeps contents of a tenant while a message or a campaign uses them."""

    async def blob_put(self, tenant: str, blob: str, content: bytes) -> None:
        """Store a content under its digest, or note that it is in use again."""

    async def blob_get(self, tenant: str, blob: str) -> bytes | None:
        """Read a content."""

    async def blob_bytes(self, tenant: str) -> int:
        """Return how many bytes a tenant has stored."""

    async def blob_use(self, tenant: str, blob: str, holder: int) -> bool:
        """Note that a message or campaign is about to use a content; False when it is not there."""

    async def blob_sweep(self, after: int, before_ms: int) -> int | None:
        """Look at the next uses, and forget those whose holder is gone; after the last one delete a
        slice of contents that nothing has used since a time. Answers where to go on; None at the
        end."""
