"""Draining: what another number of shards left in lines of their own moves over to ours."""

import asyncio
from collections.abc import Callable, Iterable

from postroad.model.errors import BrokerForgot, StoreError
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.queue_cache import Book
from postroad.stores.rabbitmq.dead_letters import unreadable
from postroad.stores.rabbitmq.envelope import BadEnvelope, unpack
from postroad.stores.rabbitmq.fleet.batch_consumer import AGAIN_S, keep_drained
from postroad.stores.rabbitmq.publishing.routes import Outlet, Post, Routes, Wrong
from postroad.stores.rabbitmq.topology.declaring import ready
from postroad.stores.rabbitmq.topology.topology import SHARD_NUMBERS, Topology
from postroad.stores.rabbitmq.wire.connection import Link
from postroad.stores.rabbitmq.wire.properties import Delivery


class Draining:
    """Moves messages of old lines into the new ones. A copy that was published and not acked,
    because of a crash, is made again and known by its hop. Old delay queues end in old lines."""

    def __init__(
        self,
        book: Book,
        routes: Routes,
        outlet: Outlet,
        handlers: Callable[[], Iterable[str]],
        clock: Clock,
        log: Log,
    ) -> None:
        self._topology = routes.topology
        self._handlers = handlers
        self._book = book
        self._routes = routes
        self._outlet = outlet
        self._clock = clock
        self._log = log

    async def run(self, link: Link) -> None:
        """Empty what is there of other topologies, for as long as there is a link. When it breaks
        that is told, and nothing else breaks with it."""
        try:
            await self._run(link)
        except Exception:  # noqa: BLE001 - whatever it is
            self._log.exception("old lines are no longer drained")

    async def _run(self, link: Link) -> None:
        while link.lost is None:
            try:
                lines = await self._find(link)
            except StoreError as error:
                self._log.warning("old lines are not drained", error=str(error))
                await self._clock.sleep(AGAIN_S)
            else:
                await asyncio.gather(*(self._empty(link, line, dead) for line, dead in lines))
                return

    async def _find(self, link: Link) -> list[tuple[str, bool]]:
        """The lines of other topologies, and whether each is one of the dead."""
        found: list[tuple[str, bool]] = []
        for shards in SHARD_NUMBERS:
            old = Topology(self._topology.prefix, shards)
            if shards == self._topology.shards or not await self._is_there(link, old.dead):
                continue
            self._log.info("lines of another topology are drained", label=old.label)
            handlers = [old.name(target) for target in self._handlers()]
            lines = [line for line in handlers if await self._is_there(link, line)]
            lines += [*map(old.name, old.shard_targets()), old.lost]
            found += [(old.dead, True), *((line, False) for line in lines)]
        return found

    async def _is_there(self, link: Link, line: str) -> bool:
        channel = await link.channel()
        try:
            _ = await ready(channel, line)  # whether it is there
        except BrokerForgot:
            return False  # which took the channel along
        await channel.close()
        return True

    async def _empty(self, link: Link, line: str, dead: bool) -> None:  # noqa: FBT001
        async def deal(batch: list[Delivery]) -> list[Wrong]:
            return await self._outlet.publish([await self._post(each, dead=dead) for each in batch])

        await keep_drained(link, line, deal, self._clock, self._log)

    async def _post(self, delivery: Delivery, *, dead: bool) -> Post:
        try:
            envelope = unpack(delivery.properties.headers, delivery.body)
        except BadEnvelope as error:
            letter = unreadable(delivery, str(error), self._clock.now_ms())
            return Post(self._topology.dead_exchange, "", letter)
        queue = await self._book.queue((envelope.tenant, envelope.queue))
        if dead or queue is None or envelope.shard >= len(queue.lanes):
            return Post(self._topology.dead_exchange, "", envelope)  # our collector knows it
        lane = self._book.lane(queue.lanes[envelope.shard])
        return self._routes.post(envelope.again(), lane.key, self._clock.now_ms())
