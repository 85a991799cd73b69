"""What a worker does for all: presence, dead letters, the catch-all queue."""

from typing import Final

from pamqp import commands
from pamqp.common import FieldTable

from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.fleet.batch_consumer import consume_in_batches
from postroad.stores.rabbitmq.fleet.catch_all import CatchAll
from postroad.stores.rabbitmq.fleet.collector import DeadLetterCollector
from postroad.stores.rabbitmq.fleet.fleet import Fleet
from postroad.stores.rabbitmq.topology.topology import Topology
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery

PRESENCE_MAX: Final = 1_000
"""Presence messages that wait for a worker that hangs; it needs only the latest."""


class Housekeeping:
    """Runs while an engine runs, on the current connection."""

    def __init__(
        self,
        topology: Topology,
        fleet: Fleet,
        collector: DeadLetterCollector,
        catch_all: CatchAll,
        clock: Clock,
        log: Log,
    ) -> None:
        self.fleet = fleet
        self.tasks = Tasks(log)
        fleet.tasks.tell(self.tasks.hear)
        self._topology = topology
        self._collector = collector
        self._catch_all = catch_all
        self._connections = 0
        self._clock = clock
        self._log = log

    async def up(self, connection: AmqpConnection) -> None:
        """Start on a new connection."""
        await self._listen(await connection.channel())
        self.fleet.connected()
        _ = self.tasks.start(self.fleet.run(), "fleet")  # `tasks` keeps it
        for name, handler in (
            (self._topology.dead, self._collector.handle_batch),
            (self._topology.lost, self._catch_all.handle_batch),
        ):
            work = consume_in_batches(connection, name, handler, self._clock, self._log)
            _ = self.tasks.start(work, f"drain {name}")  # `tasks` keeps it

    async def down(self) -> None:
        """Stop: the connection is lost, or about to be closed."""
        self.fleet.disconnected()
        await self.tasks.close()

    async def stop(self) -> None:
        """Give the shards back in good order, and stop."""
        await self.fleet.leave()
        await self.down()

    async def _listen(self, channel: AmqpChannel) -> None:
        """Receive the presence messages, by a queue that is deleted with the connection."""
        self._connections += 1
        queue = f"{self._topology.fleet}.{self.fleet.me}.{self._connections}"
        limits: FieldTable = {
            "x-queue-type": "classic",
            "x-max-length": PRESENCE_MAX,
            "x-overflow": "drop-head",
        }
        await channel.do(
            commands.Queue.Declare(queue=queue, exclusive=True, auto_delete=True, arguments=limits)
        )
        await channel.do(commands.Queue.Bind(queue=queue, exchange=self._topology.fleet))

        def receive(delivery: Delivery) -> None:
            channel.ack(delivery.tag)
            self.fleet.receive(delivery.body)

        # The consumer is never cancelled: it ends with its channel.
        _ = await channel.consume(queue, receive, prefetch=PRESENCE_MAX)
