"""Moves messages from the broker queues of another topology (another number of shards) to ours."""

import asyncio
from collections.abc import Callable, Iterable

from postroad.model.errors import BrokerForgot, StoreError
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.queue_cache import QueueCache
from postroad.stores.rabbitmq.dead_letters import read_or_reject
from postroad.stores.rabbitmq.fleet.batch_consumer import AGAIN_S, consume_in_batches
from postroad.stores.rabbitmq.publishing.routes import (
    CopySender,
    PublishOutcome,
    RoutedCopy,
    Routes,
)
from postroad.stores.rabbitmq.topology.declaring import ready_count
from postroad.stores.rabbitmq.topology.topology import SHARD_NUMBERS, Topology
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery


class OldQueueDrain:
    """Drains old broker queues. When a crash comes between publish and ack, the copy is published
    again and recognised by its hop. Old delay queues still end in old queues."""

    def __init__(
        self,
        queue_cache: QueueCache,
        routes: Routes,
        publisher: CopySender,
        handlers: Callable[[], Iterable[str]],
        clock: Clock,
        log: Log,
    ) -> None:
        self._topology = routes.topology
        self._handlers = handlers
        self._queue_cache = queue_cache
        self._routes = routes
        self._publisher = publisher
        self._clock = clock
        self._log = log

    async def run(self, connection: AmqpConnection) -> None:
        """Drain the queues of other topologies until the connection is lost. An error is logged and
        stops nothing else."""
        try:
            await self._run(connection)
        except Exception:  # noqa: BLE001 - any error
            self._log.exception("stopped draining the queues of another topology")

    async def _run(self, connection: AmqpConnection) -> None:
        while connection.lost is None:
            try:
                names = await self._find(connection)
            except StoreError as error:
                self._log.warning("could not look for old queues", error=str(error))
                await self._clock.sleep(AGAIN_S)
            else:
                await asyncio.gather(*(self._empty(connection, name, dead) for name, dead in names))
                return

    async def _find(self, connection: AmqpConnection) -> list[tuple[str, bool]]:
        """The queues of other topologies, and whether each is a dead queue."""
        found: list[tuple[str, bool]] = []
        for shards in SHARD_NUMBERS:
            old = Topology(self._topology.prefix, shards)
            if shards == self._topology.shards or not await self._is_there(connection, old.dead):
                continue
            self._log.info("draining the queues of another topology", label=old.label)
            handlers = [old.name(target) for target in self._handlers()]
            names = [name for name in handlers if await self._is_there(connection, name)]
            names += [*map(old.name, old.shard_targets()), old.lost]
            found += [(old.dead, True), *((name, False) for name in names)]
        return found

    async def _is_there(self, connection: AmqpConnection, name: str) -> bool:
        channel = await connection.channel()
        try:
            _ = await ready_count(channel, name)  # raises when it does not exist
        except BrokerForgot:
            return False  # the broker has closed the channel
        await channel.close()
        return True

    async def _empty(self, connection: AmqpConnection, name: str, dead: bool) -> None:  # noqa: FBT001
        async def handle_batch(batch: list[Delivery]) -> list[PublishOutcome]:
            return await self._publisher.publish(
                [await self._copy(each, dead=dead) for each in batch]
            )

        await consume_in_batches(connection, name, handle_batch, self._clock, self._log)

    async def _copy(self, delivery: Delivery, *, dead: bool) -> RoutedCopy:
        envelope = read_or_reject(delivery, self._clock.now_ms())
        queue = await self._queue_cache.queue((envelope.tenant, envelope.queue))
        if dead or envelope.reason or queue is None or envelope.shard >= len(queue.lanes):
            return self._routes.dead(envelope)  # the collector handles it
        lane = self._queue_cache.lane(queue.lanes[envelope.shard])
        return self._routes.to_lane(envelope.again(), lane.key, self._clock.now_ms())
