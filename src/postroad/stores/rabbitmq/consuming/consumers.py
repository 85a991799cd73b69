"""Lines that are consumed here: taken, given back in good order, lost with their link."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from postroad.model.errors import StoreError
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.arrivals import Arrivals, IncomingDelivery
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.consuming.stall_detector import ConsumedQueue
from postroad.stores.rabbitmq.topology.declaring import ready_count
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery

GIVE_S: Final = 30.0
"""A line whose lanes are still owned then is given back beside what is in flight."""
TELL_S: Final = 5.0
ASK_S: Final = 0.02
AGAIN_S: Final = 0.5


class ChannelAck:
    """How one delivery is settled, once: a copy that takes its place may come before the shift
    that sent it has ended, and the broker ends a channel that settles something twice."""

    __slots__ = ("_channel", "_settled", "_tag")

    def __init__(self, channel: AmqpChannel, tag: int) -> None:
        self._channel = channel
        self._tag = tag
        self._settled = False

    @property
    def alive(self) -> bool:
        """Whether its channel is still there."""
        return self._channel.lost is None

    def ack(self) -> None:
        """It is done with."""
        if not self._settled:
            self._settled = True
            self._channel.ack(self._tag)

    def nack(self) -> None:
        """Back to its line."""
        if not self._settled:
            self._settled = True
            self._channel.nack(self._tag, requeue=True)


class Consumers:
    """One channel for each line, so that one that breaks takes no other with it."""

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
        """Lines that are to be consumed."""
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
        """How many messages of the lines that are consumed here nobody has been given. Each line is
        asked over its own channel, which answers after what it has handed out."""
        asked = [
            ready_count(channel, self._name(broker_queue))
            for broker_queue, (channel, _) in self._consumed.items()
        ]
        return sum(await asyncio.gather(*asked))

    def watched(self) -> list[ConsumedQueue]:
        """Their channels."""
        return [
            ConsumedQueue(self._name(target), channel, target.startswith("shard."))
            for target, (channel, _) in self._consumed.items()
        ]

    async def up(self, connection: AmqpConnection) -> None:
        """A link is there: whatever is to be consumed is."""
        self._connection = connection
        await asyncio.gather(*map(self._declare, self.targets))
        for target in sorted(self.targets):
            await self._consume(target)

    def down(self) -> None:
        """The link is lost, and everything that it had delivered."""
        self._connection = None
        for target in list(self._consumed):
            self._lose(target)

    async def take(self, target: str) -> None:
        """Consume it from now on."""
        self.targets.add(target)
        if self._connection is not None and target not in self._consumed:
            await self._consume(target)

    async def give(self, target: str) -> None:
        """Start nothing more of it; let go when what is in flight has ended."""
        self.targets.discard(target)
        self._delivered.close(target)
        until_s = self._clock.steady_s() + GIVE_S
        while not self._delivered.has_no_owner(target) and self._clock.steady_s() < until_s:
            await self._clock.sleep(ASK_S)
        broker_queue = self._consumed.pop(target, None)
        for entry in self._delivered.drop_source(target):
            entry.ack_handle.nack()
        if broker_queue is not None and broker_queue[0].lost is None:
            await broker_queue[0].cancel(broker_queue[1])
            await broker_queue[0].close()  # what came meanwhile goes back with it
            _ = self._delivered.drop_source(target)  # the broker gives them out again

    async def give_all(self) -> None:
        """Let go of everything."""
        await asyncio.gather(*(self.give(target) for target in list(self.targets)))
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
                IncomingDelivery(delivery, ChannelAck(channel, delivery.tag), target)
            )

        def cancelled() -> None:  # its line is gone, or moved
            self._lose(target)
            self._start(channel.close())
            self._start(self._again(target))

        name, most = self._name(target), self._prefetch
        tag = await channel.consume(name, take, prefetch=most, on_cancel=cancelled)
        if target not in self.targets:  # it was given back meanwhile
            await channel.close()
            return
        self._consumed[target] = (channel, tag)
        self._delivered.open(target)

    async def _let_go(self, target: str) -> None:
        """Until engines have forgotten what an earlier channel brought: a peer may have it."""
        until_s = self._clock.steady_s() + TELL_S
        while not self._delivered.owners_informed(target) and self._clock.steady_s() < until_s:
            await self._clock.sleep(ASK_S)

    def _lose(self, target: str) -> None:
        self._consumed.pop(target, None)
        _ = self._delivered.drop_source(target)  # the broker gives them out again

    def _broke(self, target: str, error: StoreError) -> None:
        known = self._consumed.get(target)
        if known is None or known[0].lost is None:
            return  # another channel has it by now
        self._lose(target)
        if self._connection is not None and self._connection.lost is None:
            self._log.warning(
                "a line is consumed again", broker_queue=self._name(target), why=str(error)
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
                    "a line cannot be consumed", broker_queue=target, error=str(error)
                )
            await self._clock.sleep(AGAIN_S)

    def _start(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            try:
                await work
            except StoreError as error:  # the link is going: its successor starts afresh
                self._log.warning("a line is left as it is", error=str(error))

        _ = self.tasks.start(run(), "a line")  # kept there
