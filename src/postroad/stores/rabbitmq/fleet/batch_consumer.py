"""A line of the broker that is emptied in batches: acked when dealt with, never before."""

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
"""What became of each. When it raises an error, nothing was done."""


class BatchConsumer:
    """Lives as long as its channel. What it dealt with and could not ack comes again: whoever
    deals must know it by then."""

    def __init__(
        self, broker_queue: str, handle_batch: BatchHandler, clock: Clock, log: Log
    ) -> None:
        self._line = broker_queue
        self._handle_batch = handle_batch
        self._clock = clock
        self._log = log
        self._waiting: list[Delivery] = []
        self._some = asyncio.Event()

    async def run(self, channel: AmqpChannel) -> None:
        """Until the channel ends, or the task."""
        # It is never cancelled: it ends with its channel.
        _ = await channel.consume(self._line, self._arrive, prefetch=PREFETCH)
        while channel.lost is None:
            await self._some.wait()
            self._some.clear()
            while self._waiting and channel.lost is None:
                await self._next(channel, self._waiting[:BATCH])

    @property
    def idle(self) -> bool:
        """Whether all that came is dealt with."""
        return not self._waiting

    def ended(self, _why: StoreError) -> None:
        """The channel is lost: all that was not acked comes again on another."""
        self._some.set()

    async def _next(self, channel: AmqpChannel, batch: list[Delivery]) -> None:
        """What is dealt with is acked, whatever became of the others; those are tried again."""
        try:
            answers = await self._handle_batch(batch)
            pairs = list(zip(batch, answers, strict=True))
            self._waiting[: len(batch)] = [one for one, failure in pairs if failure is not None]
            for delivery in [one for one, failure in pairs if failure is None]:
                channel.ack(delivery.tag)
            raise_first(answers)
        except PostroadError as error:
            self._log.warning(
                "messages wait in the broker", broker_queue=self._line, error=str(error)
            )
            await self._clock.sleep(PAUSE_S)

    def _arrive(self, delivery: Delivery) -> None:
        self._waiting.append(delivery)
        self._some.set()


async def consume_in_batches(
    connection: AmqpConnection,
    broker_queue: str,
    handle_batch: BatchHandler,
    clock: Clock,
    log: Log,
) -> None:
    """Empty a line for as long as there is a link; a channel may end for reasons of its own."""
    while connection.lost is None:
        drain = BatchConsumer(broker_queue, handle_batch, clock, log)
        try:
            await drain.run(await connection.channel(on_lost=drain.ended))
        except StoreError as error:
            log.warning("a line is not drained", broker_queue=broker_queue, error=str(error))
        await clock.sleep(AGAIN_S)
