"""Read-only queries about messages, queues and lanes."""

from typing import Protocol

from postroad.model.facts import LaneFacts, MessageFacts, QueueFacts, StoreFacts
from postroad.model.states import NEVER


class Insight(Protocol):
    """Counts messages, and reads all that is known about one thing. Each answer is a snapshot."""

    async def counts(self) -> dict[str, int]:
        """Count messages by state."""

    async def store_facts(self) -> StoreFacts:
        """Tell what the store is, and how large."""

    async def message_facts(self, tenant: str | None, number: int) -> MessageFacts | None:
        """Read all that is known about a tenant's message, finished or not."""

    async def queue_facts(self, tenant: str, name: str, most: int = NEVER) -> QueueFacts | None:
        """Read a queue, its lanes, and what waits in them by level; each rung up to `most`."""

    async def lane_backlog(self, lane: int, most: int) -> int:
        """Count a lane's unfinished messages, up to a number."""

    async def lane_facts(self, number: int, most: int = NEVER) -> LaneFacts | None:
        """Read a lane and what waits in it by level; each rung up to `most`."""
