"""What a process does for the road besides its messages: presence, dead letters, the catch-all."""

from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct
from pamqp import commands
from pamqp.common import FieldTable

from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.fleet.batch_consumer import consume_in_batches
from postroad.stores.rabbitmq.fleet.catch_all import CatchAll, Declare, Publish
from postroad.stores.rabbitmq.fleet.collector import DeadLetterCollector, StoreDead
from postroad.stores.rabbitmq.fleet.fleet import Fleet
from postroad.stores.rabbitmq.topology.topology import Topology
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery

WORDS_MAX: Final = 1_000
"""Signs that wait for a worker that hangs; it needs only the latest."""


class QueueConsumer(Protocol):
    """How lines are consumed, by their targets."""

    async def take(self, target: str) -> None:
        """Consume it from now on."""

    async def give(self, target: str) -> None:
        """Start nothing more of it; let go when what is in flight has ended."""


class HousekeepingDeps(Struct, frozen=True):
    """What a crew uses of its store."""

    broker_queues: QueueConsumer
    store_dead: StoreDead
    declare: Declare
    publish: Publish
    broadcast: Callable[[str, bytes], None]
    """To an exchange, over the link that publishes, without waiting: a broker that is short of
    memory stops reading from whoever publishes, and acks must go on."""


class _Shards:
    """Shards as lines."""

    def __init__(self, broker_queues: QueueConsumer) -> None:
        self._lines = broker_queues

    async def take(self, shard: int) -> None:
        await self._lines.take(f"shard.{shard}")

    async def give(self, shard: int) -> None:
        await self._lines.give(f"shard.{shard}")


class Housekeeping:
    """Works while an engine does, on whatever link there is."""

    def __init__(
        self, topology: Topology, me: str, deps: HousekeepingDeps, clock: Clock, log: Log
    ) -> None:
        self._topology = topology
        self._me = me
        self._connections = 0
        self._clock = clock
        self._log = log
        self.tasks = Tasks(log)
        self.fleet = Fleet(
            me,
            topology.shards,
            clock,
            lambda body: deps.broadcast(topology.fleet, body),
            _Shards(deps.broker_queues),
            log,
        )
        self.fleet.tasks.tell(self.tasks.hear)
        self.catch_all = CatchAll(topology, deps.declare, deps.publish, clock, log)
        self._collector = DeadLetterCollector(deps.store_dead, clock)

    async def up(self, connection: AmqpConnection) -> None:
        """There is a link, with everything declared and nothing consumed."""
        await self._listen(await connection.channel())
        self.fleet.connected()
        _ = self.tasks.start(self.fleet.run(), "fleet")  # kept there
        deps = (
            (self._topology.dead, self._collector.handle_batch),
            (self._topology.lost, self.catch_all.handle_batch),
        )
        for broker_queue, handle_batch in deps:
            drained = consume_in_batches(
                connection, broker_queue, handle_batch, self._clock, self._log
            )
            _ = self.tasks.start(drained, f"drain {broker_queue}")  # kept there

    async def down(self) -> None:
        """The link is lost, or is about to be."""
        self.fleet.disconnected()
        await self.tasks.close()

    async def stop(self) -> None:
        """Give the shards back in good order, and say so."""
        await self.fleet.leave()
        await self.down()

    async def _listen(self, channel: AmqpChannel) -> None:
        """Hear the fleet, by a queue that goes with the link."""
        self._connections += 1
        queue = f"{self._topology.fleet}.{self._me}.{self._connections}"
        limits: FieldTable = {
            "x-queue-type": "classic",
            "x-max-length": WORDS_MAX,
            "x-overflow": "drop-head",
        }
        await channel.do(
            commands.Queue.Declare(queue=queue, exclusive=True, auto_delete=True, arguments=limits)
        )
        await channel.do(commands.Queue.Bind(queue=queue, exchange=self._topology.fleet))

        def hear(delivery: Delivery) -> None:
            channel.ack(delivery.tag)
            self.fleet.hear(delivery.body)

        # It is never cancelled: it ends with its channel.
        _ = await channel.consume(queue, hear, prefetch=WORDS_MAX)
