"""Lines that are consumed here: taken, given back in good order, lost with their link."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from postroad.model.errors import StoreError
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.arrivals import Arrivals, Arrived
from postroad.stores.rabbitmq.consuming.memory_tables import Table
from postroad.stores.rabbitmq.consuming.stall_detector import Watched
from postroad.stores.rabbitmq.topology.declaring import ready
from postroad.stores.rabbitmq.wire.channel import Channel
from postroad.stores.rabbitmq.wire.connection import Link
from postroad.stores.rabbitmq.wire.properties import Delivery

GIVE_S: Final = 30.0
"""A line whose lanes are still owned then is given back beside what is in flight."""
TELL_S: Final = 5.0
ASK_S: Final = 0.02
AGAIN_S: Final = 0.5


class Ticket:
    """How one delivery is settled, once: a copy that takes its place may come before the shift
    that sent it has ended, and the broker ends a channel that settles something twice."""

    __slots__ = ("_channel", "_settled", "_tag")

    def __init__(self, channel: Channel, tag: int) -> None:
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


class Consuming:
    """One channel for each line, so that one that breaks takes no other with it."""

    def __init__(
        self,
        table: Table,
        arrivals: Arrivals,
        name: Callable[[str], str],
        declare: Callable[[str], Awaitable[None]],
        prefetch: int,
        clock: Clock,
        log: Log,
    ) -> None:
        self.targets: set[str] = set()
        """Lines that are to be consumed."""
        self._table = table
        self._arrivals = arrivals
        self._name = name
        self._declare = declare
        self._prefetch = prefetch
        self._clock = clock
        self._log = log
        self._link: Link | None = None
        self._lines: dict[str, tuple[Channel, str]] = {}
        self._opening: set[str] = set()
        self.tasks = Tasks(log)

    async def ready(self) -> int:
        """How many messages of the lines that are consumed here nobody has been given. Each line is
        asked over its own channel, which answers after what it has handed out."""
        asked = [ready(channel, self._name(line)) for line, (channel, _) in self._lines.items()]
        return sum(await asyncio.gather(*asked))

    def watched(self) -> list[Watched]:
        """Their channels."""
        return [
            Watched(self._name(target), channel, target.startswith("shard."))
            for target, (channel, _) in self._lines.items()
        ]

    async def up(self, link: Link) -> None:
        """A link is there: whatever is to be consumed is."""
        self._link = link
        await asyncio.gather(*map(self._declare, self.targets))
        for target in sorted(self.targets):
            await self._consume(target)

    def down(self) -> None:
        """The link is lost, and everything that it had delivered."""
        self._link = None
        for target in list(self._lines):
            self._lose(target)

    async def take(self, target: str) -> None:
        """Consume it from now on."""
        self.targets.add(target)
        if self._link is not None and target not in self._lines:
            await self._consume(target)

    async def give(self, target: str) -> None:
        """Start nothing more of it; let go when what is in flight has ended."""
        self.targets.discard(target)
        self._table.close(target)
        until_s = self._clock.steady_s() + GIVE_S
        while not self._table.is_quiet(target) and self._clock.steady_s() < until_s:
            await self._clock.sleep(ASK_S)
        line = self._lines.pop(target, None)
        for entry in self._table.drop_source(target):
            entry.receipt.nack()
        if line is not None and line[0].lost is None:
            await line[0].cancel(line[1])
            await line[0].close()  # what came meanwhile goes back with it
            _ = self._table.drop_source(target)  # the broker gives them out again

    async def give_all(self) -> None:
        """Let go of everything."""
        await asyncio.gather(*(self.give(target) for target in list(self.targets)))
        await self.tasks.close()

    async def _consume(self, target: str) -> None:
        link = self._link
        if link is None or target in self._opening:
            return
        self._opening.add(target)
        try:
            await self._open(link, target)
        finally:
            self._opening.discard(target)

    async def _open(self, link: Link, target: str) -> None:
        await self._declare(target)
        await self._let_go(target)

        def lost(error: StoreError) -> None:
            self._broke(target, error)

        channel = await link.channel(on_lost=lost)

        def take(delivery: Delivery) -> None:
            self._arrivals.take(Arrived(delivery, Ticket(channel, delivery.tag), target))

        def cancelled() -> None:  # its line is gone, or moved
            self._lose(target)
            self._start(channel.close())
            self._start(self._again(target))

        name, most = self._name(target), self._prefetch
        tag = await channel.consume(name, take, prefetch=most, on_cancel=cancelled)
        if target not in self.targets:  # it was given back meanwhile
            await channel.close()
            return
        self._lines[target] = (channel, tag)
        self._table.open(target)

    async def _let_go(self, target: str) -> None:
        """Until engines have forgotten what an earlier channel brought: a peer may have it."""
        until_s = self._clock.steady_s() + TELL_S
        while not self._table.is_told(target) and self._clock.steady_s() < until_s:
            await self._clock.sleep(ASK_S)

    def _lose(self, target: str) -> None:
        self._lines.pop(target, None)
        _ = self._table.drop_source(target)  # the broker gives them out again

    def _broke(self, target: str, error: StoreError) -> None:
        known = self._lines.get(target)
        if known is None or known[0].lost is None:
            return  # another channel has it by now
        self._lose(target)
        if self._link is not None and self._link.lost is None:
            self._log.warning("a line is consumed again", line=self._name(target), why=str(error))
            self._start(self._again(target))

    async def _again(self, target: str) -> None:
        while target in self.targets and target not in self._lines and self._link is not None:
            try:
                await self._consume(target)
            except StoreError as error:
                self._log.warning("a line cannot be consumed", line=target, error=str(error))
            await self._clock.sleep(AGAIN_S)

    def _start(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            try:
                await work
            except StoreError as error:  # the link is going: its successor starts afresh
                self._log.warning("a line is left as it is", error=str(error))

        _ = self.tasks.start(run(), "a line")  # kept there
