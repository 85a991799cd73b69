"""What is known about one message, queue or lane."""

from typing import Final

import msgspec

from postroad.model.facts import LaneFacts, MessageFacts, QueueFacts
from postroad.stores.postgres.base import Base

MESSAGE: Final = msgspec.json.Decoder(MessageFacts)
QUEUE: Final = msgspec.json.Decoder(QueueFacts)
LANE: Final = msgspec.json.Decoder(LaneFacts)


class InsightVerbs(Base):
    """What can be asked."""

    async def counts(self) -> dict[str, int]:
        """Messages by state."""
        self._check_open()
        rows = await self._side.rows("insight", "counts")
        return {row["state"]: row["n"] for row in rows}

    async def message_facts(self, tenant: str | None, number: int) -> MessageFacts | None:
        """All that is known about a tenant's message."""
        text = await self._one(self._side, "insight", "message_facts", tenant, number)
        return MESSAGE.decode(text) if text else None

    async def queue_facts(self, tenant: str, name: str) -> QueueFacts | None:
        """A queue and what waits in it."""
        text = await self._one(self._side, "insight", "queue_facts", tenant, name)
        return QUEUE.decode(text) if text else None

    async def lane_facts(self, number: int) -> LaneFacts | None:
        """A lane and what waits in it."""
        text = await self._one(self._side, "insight", "lane_facts", number)
        return LANE.decode(text) if text else None
