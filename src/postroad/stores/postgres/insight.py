"""What is known about one message, queue or lane."""

from typing import Final

import msgspec
from msgspec.structs import replace

from postroad.model.entities import Queue
from postroad.model.facts import LaneFacts, MessageFacts, PaceFacts, QueueFacts, StoreFacts
from postroad.model.states import NEVER
from postroad.stores.postgres.base import PostgresBase

MESSAGE: Final = msgspec.json.Decoder(MessageFacts)
QUEUE: Final = msgspec.json.Decoder(QueueFacts)
LANE: Final = msgspec.json.Decoder(LaneFacts)
PACES: Final = msgspec.json.Decoder(tuple[PaceFacts, ...])


class PostgresInsight(PostgresBase):
    """Answers what is known about messages, queues and lanes."""

    async def counts(self) -> dict[str, int]:
        """Messages by state."""
        self._check_open()
        rows = await self._side.rows("insight", "counts")
        return {row["state"]: row["n"] for row in rows}

    async def store_facts(self) -> StoreFacts:
        """The version of the server, and the size of the road's tables."""
        self._check_open()
        (row,) = await self._side.rows("insight", "store_facts")
        return StoreFacts(f"PostgreSQL {row['version']}", row["layout"], row["size"])

    async def message_facts(self, tenant: str | None, number: int) -> MessageFacts | None:
        """All that is known about a tenant's message."""
        text = await self._one(self._side, "insight", "message_facts", tenant, number)
        facts = MESSAGE.decode(text) if text else None
        if facts is None or facts.live is None or not _limited(facts.queue):
            return facts
        return replace(facts, paces=await self._paces(facts.queue.id, facts.queue.lanes[0]))

    async def queue_facts(self, tenant: str, name: str, most: int = NEVER) -> QueueFacts | None:
        """A queue and what waits in it."""
        text = await self._one(self._side, "insight", "queue_facts", tenant, name, most)
        facts = QUEUE.decode(text) if text else None
        if facts is None or not _limited(facts.queue):
            return facts
        return replace(facts, paces=await self._paces(facts.queue.id, facts.queue.lanes[0]))

    async def lane_backlog(self, lane: int, most: int) -> int:
        """Count a lane's unfinished messages, up to a number."""
        self._check_open()
        (row,) = await self._side.rows("insight", "lane_backlog", (lane, most))
        return int(row["n"])

    async def lane_facts(self, number: int, most: int = NEVER) -> LaneFacts | None:
        """A lane and what waits in it."""
        text = await self._one(self._side, "insight", "lane_facts", number, most)
        facts = LANE.decode(text) if text else None
        return replace(facts, paces=await self._paces(0, number)) if facts else None

    async def _paces(self, queue: int, lane: int) -> tuple[PaceFacts, ...]:
        """Read the limits, a moment later than the rest: in use they change all the time."""
        return PACES.decode(await self._one(self._side, "insight", "paces", queue, lane))


def _limited(queue: Queue) -> bool:
    return bool(queue.ledgers or queue.hours)
