"""What a store keeps for batches."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.batch import BatchPlan, BatchStatus


@runtime_checkable
class BatchStore(Protocol):
    """A store with batches. Whatever ends a message counts it in the same transaction, once; what
    follows is stored by the transaction that ends the batch. A road on RabbitMQ has none."""

    async def batch_put(self, plan: BatchPlan) -> None:
        """Store batches with all that belongs to them, or more members of batches that are being
        filled, in one transaction."""

    async def batch_seal(self, batches: Sequence[int]) -> int:
        """Say that all members of batches are stored; answers how many of them were still to be
        filled. One whose sender seems to be dead is not."""

    async def batch_page(self, tenant: str, before: int, limit: int) -> list[BatchStatus]:
        """Batches of a tenant that were made before one, the newest first."""

    async def batch_one(self, tenant: str, number: int) -> BatchStatus | None:
        """One batch of a tenant."""

    async def batch_members(self, number: int, after: int, limit: int) -> list[tuple[int, bool]]:
        """Members of a batch that have not ended, after one, and whether each is a batch."""

    async def batch_stop(self, tenant: str, number: int) -> None:
        """Say that `then` does not follow a batch of which something was not delivered."""
