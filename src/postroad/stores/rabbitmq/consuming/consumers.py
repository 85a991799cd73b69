"""The consumers of this process: one channel for each broker queue."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from postroad.model.errors import StoreError
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.arrivals import Arrivals, IncomingDelivery
from postroad.stores.rabbitmq.consuming.delivery import AckHandle
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.consuming.stall_detector import ConsumedQueue
from postroad.stores.rabbitmq.topology.declaring import ready_count
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery

GIVE_S: Final = 30.0
"""A broker queue whose lanes still have owners after this time is given back all the same."""
TELL_S: Final = 5.0
ASK_S: Final = 0.02
AGAIN_S: Final = 0.5


class Consumers:
    """Consumes broker queues, each over its own channel, so that one failure closes one channel."""

    def __init__(
        self,
        delivered: DeliveredMessages,
        arrivals: Arrivals,
        name: Callable[[str], str],
        declare: Callable[[str], Awaitable[None]],
        prefetch: int,
        clock: Clock,
        log: Log,
    ) -> None:
        self.targets: set[str] = set()
        """The targets whose broker queues are to be consumed."""
        self._delivered = delivered
        self._arrivals = arrivals
        self._name = name
        self._declare = declare
        self._prefetch = prefetch
        self._clock = clock
        self._log = log
        self._connection: AmqpConnection | None = None
        self._consumed: dict[str, tuple[AmqpChannel, str]] = {}
        self._opening: set[str] = set()
        self.tasks = Tasks(log)

    async def ready_count(self) -> int:
        """How many messages of the consumed broker queues are not delivered to anybody. Each one is
        asked over its own channel, which answers after the deliveries that it has sent."""
        asked = [ready_count(each, self._name(name)) for name, (each, _) in self._consumed.items()]
        return sum(await asyncio.gather(*asked))

    def watched(self) -> list[ConsumedQueue]:
        """The consumed broker queues, for the stall detector."""
        return [
            ConsumedQueue(self._name(target), channel, target.startswith("shard."))
            for target, (channel, _) in self._consumed.items()
        ]

    async def up(self, connection: AmqpConnection) -> None:
        """Start all consumers on a new connection."""
        self._connection = connection
        await asyncio.gather(*map(self._declare, self.targets))
        for target in sorted(self.targets):
            await self._consume(target)

    def down(self) -> None:
        """Drop all that a lost connection had delivered."""
        self._connection = None
        for target in list(self._consumed):
            self._lose(target)

    async def take(self, target: str) -> None:
        """Start to consume a target."""
        self.targets.add(target)
        if self._connection is not None and target not in self._consumed:
            await self._consume(target)

    async def give_back(self, target: str) -> None:
        """Start no more messages of a target, wait for those in flight, and stop its consumer."""
        self.targets.discard(target)
        self._delivered.close(target)
        until_s = self._clock.steady_s() + GIVE_S
        while not self._delivered.has_no_owner(target) and self._clock.steady_s() < until_s:
            await self._clock.sleep(ASK_S)
        channel, tag = self._consumed.pop(target, (None, ""))
        for entry in self._delivered.drop_source(target):
            entry.ack_handle.nack()
        if channel is not None and channel.lost is None:
            await channel.cancel(tag)
            await channel.close()  # the broker takes back what arrived meanwhile
            _ = self._delivered.drop_source(target)  # the broker delivers them again

    async def give_all_back(self) -> None:
        """Give all targets back."""
        await asyncio.gather(*(self.give_back(target) for target in list(self.targets)))
        await self.tasks.close()

    async def _consume(self, target: str) -> None:
        connection = self._connection
        if connection is None or target in self._opening:
            return
        self._opening.add(target)
        try:
            await self._open(connection, target)
        finally:
            self._opening.discard(target)

    async def _open(self, connection: AmqpConnection, target: str) -> None:
        await self._declare(target)
        await self._let_go(target)

        def lost(error: StoreError) -> None:
            self._broke(target, error)

        channel = await connection.channel(on_lost=lost)

        def take(delivery: Delivery) -> None:
            self._arrivals.take(
                IncomingDelivery(delivery, AckHandle(channel, delivery.tag), target)
            )

        def cancelled() -> None:  # the broker queue was deleted or moved
            self._lose(target)
            self._start(channel.close())
            self._start(self._again(target))

        name, most = self._name(target), self._prefetch
        tag = await channel.consume(name, take, prefetch=most, on_cancel=cancelled)
        if target not in self.targets:  # somebody gave it back meanwhile
            await channel.close()
            return
        self._consumed[target] = (channel, tag)
        self._delivered.open(target)

    async def _let_go(self, target: str) -> None:
        """Wait until engines have dropped what an earlier channel delivered: a peer may have it."""
        until_s = self._clock.steady_s() + TELL_S
        while not self._delivered.owners_informed(target) and self._clock.steady_s() < until_s:
            await self._clock.sleep(ASK_S)

    def _lose(self, target: str) -> None:
        self._consumed.pop(target, None)
        _ = self._delivered.drop_source(target)  # the broker delivers them again

    def _broke(self, target: str, error: StoreError) -> None:
        known = self._consumed.get(target)
        if known is None or known[0].lost is None:
            return  # another channel consumes it by now
        self._lose(target)
        if self._connection is not None and self._connection.lost is None:
            self._log.warning(
                "a consumer lost its channel and starts again",
                broker_queue=self._name(target),
                why=str(error),
            )
            self._start(self._again(target))

    async def _again(self, target: str) -> None:
        while (
            target in self.targets and target not in self._consumed and self._connection is not None
        ):
            try:
                await self._consume(target)
            except StoreError as error:
                self._log.warning(
                    "could not start a consumer", broker_queue=target, error=str(error)
                )
            await self._clock.sleep(AGAIN_S)

    def _start(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            try:
                await work
            except (
                StoreError
            ) as error:  # the connection is being lost: the next one starts all consumers
                self._log.warning("could not change a consumer", error=str(error))

        _ = self.tasks.start(run(), "a consumer")  # `tasks` keeps it
