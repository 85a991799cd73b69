"""Moves dead letters from the broker to the state store, where they can be listed, filtered,
replayed and purged. A broker queue cannot be listed without consuming it."""

from collections.abc import Awaitable, Callable

from postroad.model.errors import PostroadError, is_about_store
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.dead_letters import dropped_by_broker, read_or_reject
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome
from postroad.stores.rabbitmq.wire.properties import Delivery

StoreDead = Callable[[list[Envelope]], Awaitable[None]]
"""Writes letters to the dead set in one durable transaction; those that are there are left out."""


class DeadLetterCollector:
    """Handles the letters of the dead queue. A letter that was committed and not acked, because the
    process or the connection died, is delivered again and recognised by its hop."""

    def __init__(self, store_dead: StoreDead, clock: Clock) -> None:
        self._store_dead = store_dead
        self._clock = clock

    async def handle_batch(self, batch: list[Delivery]) -> list[PublishOutcome]:
        """Store a batch in one transaction. When it is refused, store each letter by itself."""
        now_ms = self._clock.now_ms()
        letters = [letter_of(delivery, now_ms) for delivery in batch]
        try:
            await self._store_dead(letters)
        except PostroadError as error:
            if is_about_store(error) or len(batch) == 1:
                raise
            return [await self._alone(letter) for letter in letters]
        return [None] * len(batch)

    async def _alone(self, letter: Envelope) -> PublishOutcome:
        try:
            await self._store_dead([letter])
        except PostroadError as error:
            return error
        return None


def letter_of(delivery: Delivery, now_ms: int) -> Envelope:
    """Return the dead letter of a delivery from the dead queue, of any release."""
    envelope = read_or_reject(delivery, now_ms)
    return envelope if envelope.reason else dropped_by_broker(envelope, now_ms)
