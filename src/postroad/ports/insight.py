"""Read-only questions to the store."""

from typing import Protocol

from postroad.model.facts import LaneFacts, MessageFacts, QueueFacts


class Insight(Protocol):
    """How much there is, and what is known about one thing; each answer is of one moment."""

    async def counts(self) -> dict[str, int]:
        """Messages by state."""

    async def message_facts(self, tenant: str | None, number: int) -> MessageFacts | None:
        """All that is known about a tenant's message, finished or not."""

    async def queue_facts(self, tenant: str, name: str) -> QueueFacts | None:
        """A queue, its lanes, and what waits in them by level."""

    async def lane_facts(self, number: int) -> LaneFacts | None:
        """A lane and what waits in it by level."""
