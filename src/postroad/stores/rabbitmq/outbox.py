"""The outbox: messages that the state store made live go into the broker. Replayed ones, ticks of
a timetable, and uncertain ones that were not sent after all."""

import asyncio
from typing import Final

from postroad.model.errors import StoreError
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.arriving import message_of
from postroad.stores.rabbitmq.book import Book
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.routes import Outlet, Post, Routes
from postroad.stores.rabbitmq.state.state import Batch, BrokerState

BATCH: Final = 500
LOOK_EVERY_S: Final = 30.0
"""A process may have died between its commit and its publishing: any other one does it then."""


class Outbox:
    """Publishes, awaits the confirms, then deletes the rows. Should it die between, a second copy
    is published: with the same hop, by which it is known."""

    def __init__(
        self, state: BrokerState, book: Book, routes: Routes, outlet: Outlet, clock: Clock
    ) -> None:
        self._state = state
        self._book = book
        self._routes = routes
        self._outlet = outlet
        self._clock = clock
        self._turn = asyncio.Lock()

    async def empty(self) -> int:
        """Everything that is there now; answers how much."""
        count = 0
        async with self._turn:
            while envelopes := await self._state.outbox(BATCH):
                batch = Batch(self._clock.now_ms())
                await self._outlet.publish([await self._post(one, batch) for one in envelopes])
                await self._state.write(batch)
                count += len(envelopes)
        return count

    async def _post(self, envelope: Envelope, batch: Batch) -> Post:
        queue = await self._book.queue((envelope.tenant, envelope.queue))
        if queue is None:  # pragma: no cover - its row was joined to the queue's a moment ago
            raise LookupError(envelope.queue)
        batch.moved(message_of(envelope, queue, 0), envelope.hop, envelope.priority)
        lane = self._book.lane(queue.lanes[envelope.shard])
        return self._routes.post(envelope, lane.key, self._clock.now_ms())

    async def run(self, log: Log) -> None:
        """Look now and then."""
        while True:
            try:
                await self.empty()
            except StoreError as error:
                log.warning("messages wait to be published", error=str(error))
            await self._clock.sleep(LOOK_EVERY_S)
