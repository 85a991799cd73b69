"""Subscriptions that outlive links: made again on each new one, and watched."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from msgspec import Struct
from pamqp import commands

from postroad.model.errors import StoreError
from postroad.ports.clock import Chance, Clock
from postroad.stores.rabbitmq.supervisor import Prepare, Supervisor
from postroad.stores.rabbitmq.wire.address import Address
from postroad.stores.rabbitmq.wire.channel import Channel
from postroad.stores.rabbitmq.wire.link import Link
from postroad.stores.rabbitmq.wire.properties import Delivery

WATCH_S: Final = 15.0
"""A consumer that gets nothing for so long is asked about, and after twice that, replaced."""


class Source:
    """One subscription on one link. What it gave is settled here; when its link is gone, settling
    does nothing, and the broker gives the messages out again."""

    def __init__(self, queue: str, channel: Channel, generation: int) -> None:
        self.queue = queue
        self.generation = generation
        self.arrived = 0
        self.held = 0
        self._channel = channel
        self._tag = ""

    @property
    def alive(self) -> bool:
        """Whether its link is."""
        return self._channel.lost is None

    def ack(self, tag: int) -> None:
        """Done with."""
        self.held -= 1
        self._channel.ack(tag)

    def nack(self, tag: int, *, requeue: bool) -> None:
        """Back to the queue, or dead-lettered."""
        self.held -= 1
        self._channel.nack(tag, requeue=requeue)

    async def begin(self, wanted: "Subscription", on_gone: Callable[[], None]) -> None:
        """Subscribe."""

        def take(message: Delivery) -> None:
            self.arrived += 1
            self.held += 1
            wanted.on_delivery(self, message)

        self._tag = await self._channel.consume(
            self.queue,
            take,
            prefetch=wanted.prefetch,
            arguments=wanted.arguments,
            on_cancel=on_gone,
        )

    async def pause(self) -> None:
        """Be given nothing more; what is held can still be settled."""
        await self._channel.cancel(self._tag)

    async def end(self) -> None:
        """Close its channel: what is held goes back to the queue."""
        await self._channel.close()


class Subscription(Struct, eq=False):
    """A queue that is to be consumed. `single`: it has a single active consumer, so that getting
    nothing is no fault while that may be another."""

    queue: str
    on_delivery: Callable[[Source, Delivery], None]
    prefetch: int
    arguments: dict[str, Any] | None = None
    single: bool = False
    source: Source | None = None


class Consumers:
    """All subscriptions of a process, on one link of their own: a broker that is short of memory
    stops reading from publishers, and acks must get through."""

    def __init__(
        self, address: Address, name: str, prepare: Prepare, clock: Clock, chance: Chance
    ) -> None:
        self._declare = prepare
        self._clock = clock
        self._wanted: dict[Subscription, None] = {}
        self._control: Channel | None = None
        self._seen: dict[Source, int] = {}
        self._watch: asyncio.Task[None] | None = None
        self._adding = asyncio.Lock()
        self.supervisor = Supervisor(address, name, self._prepare, clock, chance)

    async def open(self) -> None:
        """Connect; what is wrong is raised."""
        await self.supervisor.open()
        self._watch = asyncio.create_task(self._watching(), name="watch over consumers")

    async def close(self) -> None:
        """End every subscription: what is held goes back to its queue."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        await self.supervisor.close()

    async def add(self, wanted: Subscription) -> None:
        """Consume it from now on, on this link and on all that follow."""
        self._wanted[wanted] = None
        async with self._adding:
            link = self.supervisor.link
            if link is None or wanted.source is not None:
                return  # it is among those that the next link begins with
            try:
                await self._begin(link, wanted)
            except StoreError as error:
                self.supervisor.rebuild(f"{wanted.queue} cannot be consumed: {error}")

    async def remove(self, wanted: Subscription) -> None:
        """Consume it no more; messages that are held go back to their queue, unless `pause` and
        settling came first."""
        self._wanted.pop(wanted, None)
        source, wanted.source = wanted.source, None
        if source is not None and source.alive:
            with suppress(StoreError):  # the link went meanwhile: they are back too
                await source.end()

    async def _prepare(self, link: Link) -> None:
        await self._declare(link)
        self._control = await link.channel(on_lost=self._channel_lost)
        async with self._adding:
            for wanted in list(self._wanted):
                await self._begin(link, wanted)

    async def _begin(self, link: Link, wanted: Subscription) -> None:
        channel = await link.channel(on_lost=self._channel_lost)
        source = Source(wanted.queue, channel, self.supervisor.generation)
        wanted.source = source
        await source.begin(wanted, lambda: self._gone(wanted.queue))

    def _channel_lost(self, error: StoreError) -> None:
        self.supervisor.rebuild(str(error))

    def _gone(self, queue: str) -> None:
        self.supervisor.rebuild(f"the broker ended the consumer of {queue}: was it deleted?")

    async def _watching(self) -> None:
        while True:
            await self._clock.sleep(WATCH_S)
            link = await self.supervisor.ready()
            try:
                stuck = await self.look()
            except StoreError:
                continue  # the link is gone: the supervisor knows
            if stuck and link is self.supervisor.link:
                self.supervisor.rebuild(f"{stuck} has messages, and its consumer gets none")

    async def look(self) -> str:
        """The first queue that has messages and gives its consumer none since the last look."""
        idle = [wanted for wanted in self._wanted if self._is_idle(wanted)]
        self._seen = {
            wanted.source: wanted.source.arrived
            for wanted in self._wanted
            if wanted.source is not None
        }
        control = self._control
        if control is None or not idle:
            return ""
        asked = [
            control.ask(commands.Queue.Declare(queue=wanted.queue, passive=True)) for wanted in idle
        ]
        for wanted, answer in zip(idle, asked, strict=True):
            told = cast("commands.Queue.DeclareOk", await answer)
            if told.consumer_count == 0 or (told.message_count and _is_served(wanted)):
                return wanted.queue
        return ""

    def _is_idle(self, wanted: Subscription) -> bool:
        source = wanted.source
        return (
            source is not None
            and source.alive
            and source.held <= 0
            and self._seen.get(source) == source.arrived
        )


def _is_served(wanted: Subscription) -> bool:
    """Whether it should be given what is there. Of several single consumers only one is, and it
    stays that one until it leaves: who was given something before."""
    return not wanted.single or (wanted.source is not None and wanted.source.arrived > 0)
