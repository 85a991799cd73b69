"""What a store does for feeds: endpoints whose messages are read, and acked."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.entities import Message


@runtime_checkable
class FeedStore(Protocol):
    """A store with feeds. Their messages lie in queues as all do; no process claims their lanes."""

    async def feed_lease(
        self, queue: int, ids: Sequence[int], lease_ms: int, *, whole: bool
    ) -> set[int]:
        """Let these messages of a queue be due again after a lease, unless somebody else has leased
        them; answers which. `whole`: all of them or none. One that was leased before and not acked
        has had a try."""

    async def feed_leased(self, queue: int, ids: Sequence[int]) -> list[Message]:
        """Read those of these messages of a queue that were leased and not acked, also if their
        lease has ended; without bodies."""
