"""Publishes messages that the state store holds for the broker: replayed dead messages, ticks of
schedules, and uncertain messages that were settled as not sent."""

import asyncio
from collections.abc import Sequence
from typing import Final

from postroad.model.entities import Message
from postroad.model.errors import StoreError
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.arrivals import message_of
from postroad.stores.rabbitmq.consuming.queue_cache import QueueCache
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.publishing.routes import CopySender, RoutedCopy, Routes, raise_first
from postroad.stores.rabbitmq.state.broker_state import BrokerState, StateBatch

BATCH: Final = 500
LOOK_EVERY_S: Final = 150.0
"""How often to look for messages of a process that died between commit and publish: 24 statements
an hour."""


class Outbox:
    """Publishes, awaits the confirms, then deletes the confirmed rows. After a crash in between the
    copy is published again with the same hop, and recognised by it."""

    def __init__(
        self,
        state: BrokerState,
        queue_cache: QueueCache,
        routes: Routes,
        publisher: CopySender,
        clock: Clock,
        log: Log,
    ) -> None:
        self._state = state
        self._queue_cache = queue_cache
        self._routes = routes
        self._publisher = publisher
        self._clock = clock
        self._log = log
        self._turn = asyncio.Lock()

    async def empty(self) -> int:
        """Publish everything in the outbox; answers how many."""
        count = 0
        async with self._turn:
            while envelopes := await self._state.outbox(BATCH):
                count += await self._publish(envelopes)
        return count

    async def _publish(self, envelopes: Sequence[Envelope]) -> int:
        copies = [await self._copy(one) for one in envelopes]
        answers = await self._publisher.publish([copy for copy, _ in copies])
        batch = StateBatch(self._clock.now_ms())
        for (copy, message), failure in zip(copies, answers, strict=True):
            if failure is None:
                batch.republished(message, copy.envelope.hop, copy.envelope.priority)
        await self._state.write(batch)
        raise_first(answers)
        return len(envelopes)

    async def _copy(self, envelope: Envelope) -> tuple[RoutedCopy, Message]:
        queue = await self._queue_cache.queue((envelope.tenant, envelope.queue))
        if queue is None:  # pragma: no cover - its row was joined to the queue's a moment ago
            raise LookupError(envelope.queue)
        lane = self._queue_cache.lane(queue.lanes[envelope.shard])
        copy = self._routes.to_lane(envelope, lane.key, self._clock.now_ms())
        return copy, message_of(envelope, queue, 0)

    async def publish_now(self) -> None:
        """Empty the outbox; an error is logged, and `run` tries again later."""
        try:
            _ = await self.empty()  # the count does not matter
        except StoreError as error:
            self._log.store_failed("publish from the outbox", error)

    async def run(self) -> None:
        """Empty the outbox regularly."""
        while True:
            await self.publish_now()
            await self._clock.sleep(LOOK_EVERY_S)
