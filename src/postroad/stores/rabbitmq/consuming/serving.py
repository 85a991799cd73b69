"""Starts consuming when the first engine claims lanes, and stops when the last one leaves."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from postroad.model.errors import StoreError
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.broker import Broker
from postroad.stores.rabbitmq.consuming.arrivals import Arrivals
from postroad.stores.rabbitmq.consuming.consumers import Consumers
from postroad.stores.rabbitmq.fleet.housekeeping import Housekeeping
from postroad.stores.rabbitmq.fleet.old_queues import OldQueueDrain
from postroad.stores.rabbitmq.topology.topology import handler_target
from postroad.stores.rabbitmq.wire.connection import AmqpConnection

CATCH_UP_S: Final = 5.0
"""A claim for all levels waits this long for what the broker is about to deliver."""
ASK_S: Final = 0.02
HANDLER: Final = "handler:"


class Serving:
    """Connects and disconnects the consumers, the housekeeping and the drain of old queues."""

    def __init__(
        self,
        broker: Broker,
        consumers: Consumers,
        arrivals: Arrivals,
        housekeeping: Housekeeping,
        old_queues: OldQueueDrain,
        clock: Clock,
    ) -> None:
        self._broker = broker
        self._consumers = consumers
        self._arrivals = arrivals
        self._housekeeping = housekeeping
        self._old_queues = old_queues
        self._drainer: asyncio.Task[None] | None = None
        self._clock = clock
        self._owners: set[int] = set()
        self._turn = asyncio.Lock()

    async def start(self, owner: int, pools: Sequence[str]) -> None:
        """Serve these pools for an owner."""
        handlers = {handler_target(p.removeprefix(HANDLER)) for p in pools if p.startswith(HANDLER)}
        if owner in self._owners and handlers <= self._consumers.targets:
            return
        async with self._turn:
            self._consumers.targets |= handlers
            if self._owners:
                for target in handlers:
                    await self._consumers.take(target)
            else:
                await self._broker.consume(self._up, self._down, self._consumers.watched)
            self._owners.add(owner)

    async def stop(self, owner: int) -> None:
        """Stop serving for an owner. After the last one everything is given back to the broker."""
        async with self._turn:
            if owner not in self._owners:
                return
            self._owners.discard(owner)
            if not self._owners:
                await self._housekeeping.stop()
                await self._consumers.give_all_back()
                await self._broker.stop_consuming()
                await self._down()

    async def caught_up(self, enough: Callable[[], bool] = lambda: False) -> None:
        """Wait, for a bounded time, until the consumed broker queues have nothing ready, or until
        `enough` says so: a long broker queue always has something ready."""
        until_s = self._clock.steady_s() + CATCH_UP_S
        while not (enough() or await self._has_caught_up()):
            if self._clock.steady_s() >= until_s:
                return
            await self._clock.sleep(ASK_S)

    async def _has_caught_up(self) -> bool:
        if not (self._housekeeping.fleet.settled.is_set() and self._arrivals.idle):
            return False
        asked = self._consumers.ready_count
        try:
            # Ask twice: deliveries sent before the first answer arrive before the second one.
            return not await asked() and not await asked() and self._arrivals.idle
        except StoreError:
            return True  # the connection is lost: nothing arrives until there is a new one

    async def _up(self, connection: AmqpConnection) -> None:
        await self._consumers.up(connection)
        await self._housekeeping.up(connection)
        self._drainer = asyncio.get_running_loop().create_task(self._old_queues.run(connection))

    async def _down(self) -> None:
        if self._drainer is not None:
            self._drainer.cancel()
            # It was cancelled: how it ended does not matter.
            _ = await asyncio.gather(self._drainer, return_exceptions=True)
        await self._housekeeping.down()
        self._consumers.down()
