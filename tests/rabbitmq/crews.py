"""Crews on a real broker, with lines that are only counted: who consumes which shard, when."""

import asyncio
from collections.abc import Sequence

from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.rabbitmq.envelope import Envelope, pack
from postroad.stores.rabbitmq.fleet.catch_all import CatchAll
from postroad.stores.rabbitmq.fleet.collector import DeadLetterCollector
from postroad.stores.rabbitmq.fleet.fleet import Fleet
from postroad.stores.rabbitmq.fleet.housekeeping import Housekeeping
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome, RoutedCopy
from postroad.stores.rabbitmq.topology.topology import Topology
from postroad.stores.rabbitmq.wire.address import BrokerAddress, read_address
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery, Properties
from tests.rabbitmq.outside import channel_to, declare

LOG = make_log("error")
BRIEFLY = Properties(delivery_mode=1)


class Worker:
    """Housekeeping with its two connections. It holds what it is given until it is told to ack."""

    def __init__(self, name: str, topology: Topology) -> None:
        self.name = name
        self.topology = topology
        self.held: dict[str, list[Delivery]] = {}
        self.buried: list[Envelope] = []
        clock = SystemClock()
        self.catch_all = CatchAll(topology, self.declare, self.publish, clock, LOG)
        fleet = Fleet(name, topology, self.broadcast, self, clock, LOG)
        collector = DeadLetterCollector(self.store_dead, clock)
        self.housekeeping = Housekeeping(topology, fleet, collector, self.catch_all, clock, LOG)
        self._channels: dict[str, AmqpChannel] = {}

    async def start(self, dsn: str) -> "Worker":
        self._dsn = dsn
        address = read_address(dsn)
        self.consuming = await self._connect(address)
        self.publishing = await self._connect(address)
        self._out = await self.publishing.channel(confirms=True)
        await self.housekeeping.up(self.consuming)
        return self

    async def _connect(self, address: BrokerAddress) -> AmqpConnection:
        return await AmqpConnection.open(address, name=self.name)

    async def stop(self) -> None:
        await self.housekeeping.stop()
        await self.close()

    async def close(self) -> None:
        await self.housekeeping.down()
        await self.consuming.close()
        await self.publishing.close()

    def die(self) -> None:
        """As a kill would: nothing is said."""
        self.consuming.abort()
        self.publishing.abort()

    # What housekeeping uses

    async def take(self, target: str) -> None:
        channel = self._channels[target] = await self.consuming.channel()
        held = self.held.setdefault(target, [])
        await channel.consume(self.topology.name(target), held.append, prefetch=10)

    async def give_back(self, target: str) -> None:
        await self._channels.pop(target).close()
        self.held.pop(target)

    def ack(self, target: str) -> None:
        for delivery in self.held[target]:
            self._channels[target].ack(delivery.tag)
        self.held[target].clear()

    async def store_dead(self, letters: list[Envelope]) -> None:
        self.buried += letters

    async def declare(self, target: str) -> None:
        async with channel_to(self._dsn) as channel:
            await declare(channel, self.topology.consumed(target))

    async def publish(self, posts: Sequence[RoutedCopy]) -> list[PublishOutcome]:
        sent = [
            self._out.publish(p.exchange, p.key, p.envelope.body, Properties({**pack(p.envelope)}))
            for p in posts
        ]
        await asyncio.gather(*(one for one in sent if one is not None))
        return [None] * len(posts)

    def broadcast(self, exchange: str, body: bytes) -> None:
        if self._out.lost is None:
            self._out.publish(exchange, "", body, BRIEFLY, mandatory=False)
