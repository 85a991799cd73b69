"""The broker as the store uses it: one connection to publish, one to consume."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

from postroad.model.errors import BrokerBlocked, StoreError, Unroutable
from postroad.model.ids import to_text
from postroad.observe.gathering import EventGathering
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock, system_chance
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.stall_detector import ConsumedQueue, StallDetector
from postroad.stores.rabbitmq.envelope import pack
from postroad.stores.rabbitmq.publishing.publisher import WAIT_S, PackedMessage, Publisher
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome, RoutedCopy
from postroad.stores.rabbitmq.topology.creating import create
from postroad.stores.rabbitmq.topology.declaring import ask, declare, ready_count
from postroad.stores.rabbitmq.topology.topology import Plan, Topology
from postroad.stores.rabbitmq.wire.address import BrokerAddress
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.confirms import Confirm
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.features import check_features
from postroad.stores.rabbitmq.wire.properties import Properties
from postroad.stores.rabbitmq.wire.supervisor import Prepare, Supervisor


class Broker:
    """Publishes with confirms, declares broker queues, and keeps a connection for consuming."""

    def __init__(
        self, address: BrokerAddress, topology: Topology, name: str, clock: Clock, log: Log
    ) -> None:
        self._address = address
        self._topology = topology
        self._name = name
        self._clock = clock
        self._log = log
        self._gathering = EventGathering(clock)
        self.tasks = Tasks(log)
        self.publisher = Publisher(partial(self._supervise, "publishes"), self._prepare, clock)
        self.publisher.on_return = self._on_return
        self._consumer: Supervisor | None = None
        self._detector: asyncio.Task[None] | None = None
        self._control_channel: AmqpChannel | None = None
        self._declared: set[str] = set()
        self._made = set(topology.shard_targets())
        self._making: dict[str, asyncio.Lock] = {}

    def _supervise(self, what_for: str, prepare: Prepare) -> Supervisor:
        name, clock = f"{self._name} {what_for}", self._clock
        supervisor = Supervisor(self._address, name, prepare, clock, system_chance(), self._log)
        supervisor.tasks.tell(self.tasks.hear)
        return supervisor

    async def open(self) -> None:
        """Connect for publishing, and declare the topology."""
        await check_features(self._address, self._topology.name("probe"), self._clock)
        await create(self._address, self._topology.plan(), self._topology.made, self._clock)
        await self.publisher.open()

    async def _prepare(self, connection: AmqpConnection) -> None:
        self._control_channel = await connection.channel()
        await declare(self._control_channel, self._topology.plan())
        self._declared = {"", *self._topology.shard_targets()}

    async def consume(
        self,
        up: Prepare,
        down: Callable[[], Awaitable[None]],
        watched: Callable[[], Sequence[ConsumedQueue]],
    ) -> None:
        """Keep a connection for consuming from now on; returns when the first one is ready. `up`
        and `down` are called for each connection."""

        async def prepare(connection: AmqpConnection) -> None:
            detector = StallDetector(connection, watched)
            await up(connection)
            self._detector = self.tasks.start(
                detector.run(self._clock, consumer.rebuild), "stall detector"
            )

        async def undo() -> None:
            await self._stop_detector()
            await down()

        consumer = self._consumer = self._supervise("consumes", prepare)
        consumer.undo = undo
        consumer.start()
        try:
            _ = await consumer.ready()  # only wait for it
        except BaseException:  # the caller does not wait for the broker any more
            await self.stop_consuming()
            raise

    async def stop_consuming(self) -> None:
        """Close the connection for consuming."""
        await self._stop_detector()
        if self._consumer is not None:
            await self._consumer.close()
            self._consumer = None

    async def _stop_detector(self) -> None:
        task, self._detector = self._detector, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        """Close both connections."""
        await self.stop_consuming()
        await self.publisher.close()

    async def publish(self, copies: Sequence[RoutedCopy]) -> list[PublishOutcome]:
        """Publish copies together; answers an error for each, or None when it is confirmed."""
        return await self.send([_packed(copy) for copy in copies])

    async def send(self, messages: Sequence[PackedMessage]) -> list[PublishOutcome]:
        """Publish encoded messages. An error is raised only before anything is written."""
        for target in {_target(each.key) for each in messages} - self._declared:
            await self.declare(target)
        answers = await self.publisher.publish(messages)
        lost = [at for at, failure in enumerate(answers) if isinstance(failure, Unroutable)]
        if lost:  # somebody deleted a broker queue
            again = await self._send_again([messages[at] for at in lost])
            for at, failure in zip(lost, again, strict=True):
                answers[at] = failure
        return answers

    def put(self, message: PackedMessage) -> Confirm | None:
        """Write a message at once; None when that is not possible."""
        return self.publisher.put(message) if _target(message.key) in self._declared else None

    async def _send_again(self, messages: Sequence[PackedMessage]) -> list[PublishOutcome]:
        try:
            for target in {_target(each.key) for each in messages}:
                await self.declare(target)
        except StoreError as error:
            return [error] * len(messages)
        return await self.publisher.publish(messages)

    def hand_over(self, messages: Sequence[PackedMessage]) -> None:
        """Write messages without confirms."""
        for message in messages:
            target = _target(message.key)
            if target not in self._declared:
                # A refusal closes the channel, which is logged.
                _ = ask(self.publisher.unconfirmed_channel(), self._topology.consumed(target))
                self._declared.add(target)
            self.publisher.hand_over(message)

    def _on_return(self, error: Unroutable) -> None:
        # Somebody deleted a broker queue: declare all of them again when they are used.
        self._declared = {"", *self._topology.shard_targets()}
        event = "RabbitMQ lost a message that was sent without confirm"
        self._gathering.add(self._log.error, event, {}, {"error": str(error)}.copy)

    def broadcast(self, exchange: str, body: bytes) -> None:
        """Send to an exchange without waiting; nothing happens when the broker is away."""
        if self._control_channel is not None and self._control_channel.lost is None:
            # This channel has no confirms.
            _ = self._control_channel.publish(
                exchange, "", body, Properties(delivery_mode=1), mandatory=False
            )

    async def declare(self, target: str) -> None:
        """Declare the broker queue of a target."""
        if target:
            async with self._answered():
                _ = await self.publisher.supervisor.ready()  # only wait for it
            plan = self._topology.consumed(target)
            await self._make(target, plan)
            async with self._answered():
                await declare(await self._control(), plan)
            self._declared.add(target)

    async def _make(self, target: str, plan: Plan) -> None:
        """Create a broker queue once in this process, however many senders ask at once."""
        async with self._making.setdefault(target, asyncio.Lock()):
            if target not in self._made:
                await create(self._address, plan, f"{self._topology.made}.{target}", self._clock)
                self._made.add(target)

    @property
    def broker_queues(self) -> list[str]:
        """The names of all broker queues in which messages wait, as far as this process knows."""
        known = [self._topology.name(each) for each in sorted(self._declared) if each]
        return list(dict.fromkeys([*self._topology.broker_queues(), *known]))

    async def ready_count(self, broker_queue: str) -> int:
        """How many messages of a broker queue are not delivered to anybody."""
        async with self._answered():
            return await ready_count(await self._control(), broker_queue)

    @asynccontextmanager
    async def _answered(self) -> AsyncIterator[None]:
        """Bound the wait: a broker that is short of memory reads nothing from this connection."""
        try:
            async with asyncio.timeout(0 if self.publisher.blocked else WAIT_S):
                yield
        except TimeoutError:
            if self.publisher.supervisor.connection is None:
                raise self.publisher.supervisor.why from None
            why = self.publisher.blocked or f"no answer for {WAIT_S:.0f} s"
            raise BrokerBlocked(
                f"RabbitMQ takes nothing now ({why}): see `rabbitmq-diagnostics alarms`"
            ) from None

    async def _control(self) -> AmqpChannel:
        """The control channel of the publishing connection; a new one when the broker closed it."""
        connection = self.publisher.supervisor.connection
        if connection is None:
            raise self.publisher.supervisor.why
        if self._control_channel is None or self._control_channel.lost is not None:
            self._control_channel = await connection.channel()
        return self._control_channel


def _packed(copy: RoutedCopy) -> PackedMessage:
    envelope = copy.envelope
    packed = Properties(headers=dict(pack(envelope)), message_id=to_text(envelope.id)).pack()
    return PackedMessage(copy.exchange, copy.key, packed, envelope.body)


def _target(key: str) -> str:
    """The target of a routing key; "" for the dead queue."""
    return key.rpartition("to.")[2]
