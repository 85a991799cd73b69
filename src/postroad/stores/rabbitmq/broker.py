"""The broker as the store uses it: one link that publishes, one that consumes, both made again when
they are lost."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from structlog.typing import FilteringBoundLogger

from postroad.model.errors import BrokerLost, NotOpen, StoreError, Unroutable
from postroad.model.ids import to_text
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.declaring import declare, ready
from postroad.stores.rabbitmq.envelope import pack
from postroad.stores.rabbitmq.routes import Post
from postroad.stores.rabbitmq.topology import Topology
from postroad.stores.rabbitmq.wire.address import Address
from postroad.stores.rabbitmq.wire.channel import Channel
from postroad.stores.rabbitmq.wire.link import Link
from postroad.stores.rabbitmq.wire.properties import Properties

AGAIN_S: Final = 0.5
CONFIRM_S: Final = 30.0
Hook = Callable[[Link], Awaitable[None]]


class Broker:
    """Publishes posts with confirms; tells when a link for consuming is there, and when not."""

    def __init__(
        self,
        address: Address,
        topology: Topology,
        name: str,
        clock: Clock,
        log: FilteringBoundLogger,
    ) -> None:
        self._address = address
        self._topology = topology
        self._name = name
        self._clock = clock
        self._log = log
        self._up: Hook | None = None
        self._down: Callable[[], Awaitable[None]] | None = None
        self._links: list[Link] = []
        self._out: Channel | None = None
        self._side: Channel | None = None
        self._declared: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._lost = asyncio.Event()
        self._consumes = False

    async def open(self) -> None:
        """Connect for publishing, and declare what is to be there."""
        await self._open_out()
        self._tasks.append(asyncio.create_task(self._keep(self._keep_out)))

    async def _open_out(self) -> None:
        link = await Link.open(
            self._address,
            name=f"{self._name} publishes",
            on_lost=self._out_lost,
            on_blocked=lambda _why: None,
        )
        self._links.append(link)
        side = await link.channel()
        await declare(side, self._topology.plan())
        self._side, self._out = side, await link.channel(confirms=True)
        self._declared = {"", *self._topology.shard_targets()}

    def _out_lost(self, error: StoreError) -> None:
        self._log.warning("the broker is lost", link="publishes", error=str(error))
        self._out = self._side = None
        self._lost.set()

    async def _keep_out(self) -> None:
        await self._lost.wait()
        self._lost.clear()
        while self._out is None:
            try:
                await self._open_out()
            except StoreError as error:
                self._log.warning("the broker is away", error=str(error))
                await self._clock.sleep(AGAIN_S)

    async def _keep(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await work()

    async def consume(self, up: Hook, down: Callable[[], Awaitable[None]]) -> None:
        """From now on keep a link for consuming; returns when the first one is up."""
        lost = asyncio.Event()
        started = asyncio.Event()

        async def serve() -> None:
            while True:
                lost.clear()
                try:
                    link = await Link.open(
                        self._address,
                        name=f"{self._name} consumes",
                        on_lost=lambda _error: lost.set(),
                        on_blocked=lambda _why: None,
                    )
                    self._links.append(link)
                    await up(link)
                    started.set()
                    await lost.wait()
                except StoreError as error:
                    self._log.warning("the broker is away", link="consumes", error=str(error))
                await down()
                await self._clock.sleep(AGAIN_S)

        self._consumer = asyncio.create_task(serve())
        await started.wait()

    async def unconsume(self) -> None:
        """No more."""
        self._consumer.cancel()
        await asyncio.gather(self._consumer, return_exceptions=True)

    async def close(self) -> None:
        """Let go."""
        for task in self._tasks:
            task.cancel()
        for link in self._links:
            await link.close()
        self._out = self._side = None

    async def publish(self, posts: Sequence[Post]) -> None:
        """All of them in one go; done when each is confirmed."""
        for target in {_target(post) for post in posts} - self._declared:
            await self.declare(target)
        try:
            await self._publish(posts)
        except Unroutable:  # a line was deleted; those that found theirs are known by their hops
            for target in {_target(post) for post in posts}:
                await self.declare(target)
            await self._publish(posts)

    async def _publish(self, posts: Sequence[Post]) -> None:
        confirms = [self._post(post) for post in posts]
        try:
            async with asyncio.timeout(CONFIRM_S):
                await asyncio.gather(*confirms)
        except TimeoutError:
            raise BrokerLost(f"{self._address.name} confirms nothing") from None

    def _post(self, post: Post) -> Awaitable[None]:
        if self._out is None:
            raise BrokerLost(f"{self._address.name} is away")
        envelope = post.envelope
        properties = Properties(headers=dict(pack(envelope)), message_id=to_text(envelope.id))
        confirm = self._out.publish(post.exchange, post.key, envelope.body, properties)
        if confirm is None:
            raise NotOpen("without confirms")
        return confirm

    def hand_over(self, posts: Sequence[Post]) -> None:
        """Written, not waited for."""
        for post in posts:
            self._post(post)  # type: ignore[unused-awaitable]

    def say(self, exchange: str, body: bytes) -> None:
        """Without waiting, and without a word when it is away."""
        if self._side is not None and self._side.lost is None:
            self._side.publish(exchange, "", body, Properties(delivery_mode=1), mandatory=False)

    async def declare(self, target: str) -> None:
        """The line of a target, whether it is there or not."""
        if not target:
            return
        if self._side is None:
            raise BrokerLost(f"{self._address.name} is away")
        await declare(self._side, self._topology.consumed(target))
        self._declared.add(target)

    @property
    def lines(self) -> list[str]:
        """The names of all lines in which messages wait, as far as they are known here."""
        known = [self._topology.name(each) for each in sorted(self._declared) if each]
        return list(dict.fromkeys([*self._topology.lines(), *known]))

    async def ready(self, line: str) -> int:
        """How many messages of a line nobody has been given."""
        if self._side is None:
            raise BrokerLost(f"{self._address.name} is away")
        return await ready(self._side, line)


def _target(post: Post) -> str:
    """Where a post is to end; "" for the dead line."""
    return post.key.rpartition("to.")[2]
