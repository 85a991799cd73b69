"""Sending inside the caller's own transaction."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.blobs import BlobUse
from postroad.model.entities import Accepted, Draft, Queue, QueueSpec


@runtime_checkable
class Joins(Protocol):
    """A store that can write through the caller's connection. None of it may wait for the store's
    own writer, which may be waiting for that transaction to end."""

    async def queue_in(self, connection: object, spec: QueueSpec) -> Queue:
        """Return the queue of that name, made when it is new. It counts for this transaction alone:
        a rollback may undo it."""

    async def hold_in(
        self, connection: object, tenant: str, uses: Sequence[BlobUse], now_ms: int
    ) -> bool:
        """Note which stored contents messages of this transaction use; False when one is not
        there."""

    async def send_in(self, connection: object, drafts: Sequence[Draft]) -> list[Accepted]:
        """Store them if the caller's transaction commits, and ring after that; BadInput when the
        connection is of the wrong kind or not in a transaction."""
