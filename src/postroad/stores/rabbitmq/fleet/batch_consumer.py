"""Consumes a broker queue in batches. A message is acked after it was handled, never before."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from postroad.model.errors import PostroadError, StoreError
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome, raise_first
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery

PREFETCH: Final = 512
BATCH: Final = 256
PAUSE_S: Final = 1.0
AGAIN_S: Final = 1.0

BatchHandler = Callable[[list[Delivery]], Awaitable[Sequence[PublishOutcome]]]
"""Handles deliveries; answers the outcome of each. When it raises, it has done nothing."""


class BatchConsumer:
    """Runs as long as its channel. A message that was handled and could not be acked is delivered
    again: the handler must recognise it."""

    def __init__(self, queue: str, handle_batch: BatchHandler, clock: Clock, log: Log) -> None:
        self._queue = queue
        self._handle_batch = handle_batch
        self._clock = clock
        self._log = log
        self._waiting: list[Delivery] = []
        self._some = asyncio.Event()

    async def run(self, channel: AmqpChannel) -> None:
        """Consume until the channel is lost or the task is cancelled."""
        # The consumer is never cancelled: it ends with its channel.
        _ = await channel.consume(self._queue, self._arrive, prefetch=PREFETCH)
        while channel.lost is None:
            await self._some.wait()
            self._some.clear()
            while self._waiting and channel.lost is None:
                await self._next(channel, self._waiting[:BATCH])

    @property
    def idle(self) -> bool:
        """Whether everything that was delivered is handled."""
        return not self._waiting

    def ended(self, _why: StoreError) -> None:
        """End: the channel is lost. What was not acked is delivered again on another one."""
        self._some.set()

    async def _next(self, channel: AmqpChannel, batch: list[Delivery]) -> None:
        """Handle a batch. Handled messages are acked; the others are tried again."""
        try:
            answers = await self._handle_batch(batch)
            pairs = list(zip(batch, answers, strict=True))
            self._waiting[: len(batch)] = [one for one, failure in pairs if failure is not None]
            for delivery in [one for one, failure in pairs if failure is None]:
                channel.ack(delivery.tag)
            raise_first(answers)
        except PostroadError as error:
            self._log.store_failed(f"handle messages of {self._queue}", error)
            await self._clock.sleep(PAUSE_S)

    def _arrive(self, delivery: Delivery) -> None:
        self._waiting.append(delivery)
        self._some.set()


async def consume_in_batches(
    connection: AmqpConnection, queue: str, handle_batch: BatchHandler, clock: Clock, log: Log
) -> None:
    """Consume a broker queue until the connection is lost; a lost channel is replaced."""
    while connection.lost is None:
        consumer = BatchConsumer(queue, handle_batch, clock, log)
        try:
            await consumer.run(await connection.channel(on_lost=consumer.ended))
        except StoreError as error:
            log.store_failed(f"consume {queue}", error)
        await clock.sleep(AGAIN_S)
