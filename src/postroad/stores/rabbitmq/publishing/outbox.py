"""The outbox: messages that the state store made live go into the broker. Replayed ones, ticks of
a timetable, and uncertain ones that were not sent after all."""

import asyncio
from collections.abc import Sequence
from typing import Final

from postroad.model.entities import Message
from postroad.model.errors import StoreError
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.arrivals import message_of
from postroad.stores.rabbitmq.consuming.queue_cache import Book
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.publishing.routes import Outlet, Post, Routes, raise_first
from postroad.stores.rabbitmq.state.broker_state import Batch, BrokerState

BATCH: Final = 500
LOOK_EVERY_S: Final = 150.0
"""A process may have died between its commit and its publishing: any other one does it then. 24
statements an hour."""


class Outbox:
    """Publishes, awaits the confirms, then deletes the rows of what is confirmed. Should it die
    between, a second copy is published: with the same hop, by which it is known."""

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
                count += await self._publish(envelopes)
        return count

    async def _publish(self, envelopes: Sequence[Envelope]) -> int:
        posts = [await self._post(one) for one in envelopes]
        answers = await self._outlet.publish([post for post, _ in posts])
        batch = Batch(self._clock.now_ms())
        for (post, message), wrong in zip(posts, answers, strict=True):
            if wrong is None:
                batch.moved(message, post.envelope.hop, post.envelope.priority)
        await self._state.write(batch)
        raise_first(answers)
        return len(envelopes)

    async def _post(self, envelope: Envelope) -> tuple[Post, Message]:
        queue = await self._book.queue((envelope.tenant, envelope.queue))
        if queue is None:  # pragma: no cover - its row was joined to the queue's a moment ago
            raise LookupError(envelope.queue)
        lane = self._book.lane(queue.lanes[envelope.shard])
        post = self._routes.post(envelope, lane.key, self._clock.now_ms())
        return post, message_of(envelope, queue, 0)

    async def run(self, log: Log) -> None:
        """Look now and then."""
        while True:
            try:
                _ = await self.empty()  # how many does not matter
            except StoreError as error:
                log.warning("messages wait to be published", error=str(error))
            await self._clock.sleep(LOOK_EVERY_S)
