"""The store on RabbitMQ under test: emptied lines and a state file of its own.

Its time stands still until a test moves it, and so do the broker's delay queues, which hold what
they are given for longer than any test: `advance` parks what is blocked, takes what lies in them and
publishes it as their end would, and the store itself puts back what is not due. (That it is parked
at once, and that delay queues end by themselves, and when, is shown in tests/rabbitmq.)
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace
from pamqp import commands

from postroad.model.dead import DeadFilter, ReplayMode
from postroad.model.entities import Accepted, Draft
from postroad.model.record import Claim, Record, Recorded, Swept
from postroad.model.states import NEVER
from postroad.model.ticks import Schedule, Tick
from postroad.ports.clock import Timer
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.options import RabbitOptions
from postroad.stores.rabbitmq.publishing.routes import PublishOutcome, RoutedCopy
from postroad.stores.rabbitmq.store import RabbitStore
from postroad.stores.rabbitmq.topology.declaring import declare
from postroad.stores.rabbitmq.topology.topology import Arguments, Plan
from postroad.stores.rabbitmq.wire.address import read_address
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.sqlite.store import SqliteStore
from tests.contract.clock import START_MS
from tests.contract.rigs import Rows

PATIENCE_S: Final = 60.0
LEVELS: Final = 21
STANDING_MS: Final = 3_600_000
MADE: Final[set[str]] = set()
"""Where all lines are there, which no test has to ask for again."""


class StandingClock:
    """What messages go by is set by hand; waits and timers are real, since a broker is."""

    def __init__(self) -> None:
        self._now_ms = START_MS

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, seconds: float) -> None:
        self._now_ms += round(seconds * 1000)

    def steady_s(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def later(self, delay_ms: int, call: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay_ms / 1000, call)


class PatientStore(RabbitStore):
    """Answers when what it did has been through the broker: a database is never on the way."""

    def __init__(self, options: RabbitOptions, state: SqliteStore) -> None:
        super().__init__(options, state)
        self._died = 0
        self._buried = 0
        self._expired = 0
        wait = self.topology._wait

        def standing(after: str, ttl_ms: int) -> Arguments:
            return wait(after, max(ttl_ms, STANDING_MS))

        self.topology._wait = standing  # type: ignore[method-assign]
        self.parking.look = lambda: None  # type: ignore[method-assign]

    def take_as_made(self) -> None:
        """All lines are there: to ask for them again is a third of what a test takes."""
        self.topology.plan = lambda: Plan([], [], [])  # type: ignore[method-assign]

    async def open(self) -> None:
        await super().open()
        publish = self.broker.publish

        async def counted(copies: Sequence[RoutedCopy]) -> list[PublishOutcome]:
            answers = await publish(copies)
            dead = [p.envelope.reason for p in copies if p.exchange == self.topology.dead_exchange]
            self._died += len(dead)
            self._expired += sum(reason.startswith("expired") for reason in dead)
            return answers

        self.broker.publish = counted  # type: ignore[method-assign]
        await self.serving.start(-1, [])

    async def store_dead(self, letters: Sequence[Envelope]) -> None:
        await super().store_dead(letters)
        self._buried += len(letters)

    async def accept(self, drafts: Sequence[Draft]) -> list[Accepted]:
        accepted = await super().accept(drafts)
        await self.settled()
        return accepted

    async def claim(
        self,
        owner: int,
        levels: Sequence[int],
        pools: Sequence[str],
        limit: int,
        without: Sequence[str] = (),
    ) -> Claim:
        await self.serving.start(owner, pools)
        await self.settled()
        return await super().claim(owner, levels, pools, limit, without)

    async def record(self, record: Record) -> Recorded:
        recorded = await super().record(record)
        await self.settled()
        return recorded

    async def sweep(self, limit: int) -> Swept:
        """What has come back to die, or outlived a spell, since the last one: here messages do
        not wait for a sweep when they come."""
        await self.settled()
        swept = await super().sweep(limit)
        await self.settled()
        expired, self._expired = self._expired, 0
        return replace(swept, expired=expired)

    async def dead_replay(
        self, which: DeadFilter, mode: ReplayMode, *, count: int, dry_run: bool
    ) -> int:
        replayed = await super().dead_replay(which, mode, count=count, dry_run=dry_run)
        await self.settled()
        return replayed

    async def settle(self, tenant: str, number: int, *, sent: bool) -> bool:
        settled = await super().settle(tenant, number, sent=sent)
        await self.settled()
        return settled

    async def tick(
        self, schedule: Schedule, ticks: Sequence[Tick], until_ms: int, look_ms: int = NEVER
    ) -> Schedule | None:
        stored = await super().tick(schedule, ticks, until_ms, look_ms)
        await self.settled()
        return stored

    async def settled(self) -> None:
        """Nothing is on its way."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                caught_up = await self.serving._has_caught_up()  # which a claim awaits 5 s at most
                if caught_up and self._buried >= self._died and self.arrivals.idle:
                    return
                await asyncio.sleep(0.005)


class RabbitRig:
    """The lines of a broker, emptied, and a state file of its own."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self._dsn = dsn
        self._path = folder / "state.db"
        self._clock = StandingClock()
        self._connection: AmqpConnection | None = None
        self._channel: AmqpChannel | None = None
        self.store = self._new()

    def _new(self) -> PatientStore:
        options = RabbitOptions(read_address(self._dsn), f"sqlite:///{self._path}")
        return PatientStore(options, SqliteStore(self._path, self._clock))

    @property
    def now_ms(self) -> int:
        return self._clock.now_ms()

    async def advance(self, seconds: float) -> None:
        await self.store.settled()
        await self.store.parking.park()
        self._clock.advance(seconds)
        assert self._channel is not None
        lines = [self.store.topology.name(f"delay.{level}") for level in range(LEVELS)]
        asked = [
            self._channel.ask(commands.Queue.Declare(queue=line, passive=True)) for line in lines
        ]
        answers: list[Any] = await asyncio.gather(*asked)
        for line, answer in zip(lines, answers, strict=True):
            if answer.message_count:
                await self._end(self._channel, line)
        await self.store.settled()

    async def _end(self, channel: AmqpChannel, line: str) -> None:
        """The wait in a delay queue is over."""
        while letter := await channel.get(line):
            confirm = channel.publish(
                self.store.topology.wake, letter.key, letter.body, letter.packed
            )
            assert confirm is not None
            await confirm
            channel.ack(letter.tag)

    async def open(self) -> None:
        self._connection = await AmqpConnection.open(
            read_address(self._dsn),
            name="rig",
            on_lost=lambda _: None,
            on_blocked=lambda _: None,
        )
        self._channel = await self._connection.channel(confirms=True)
        if self._dsn in MADE:
            self.store.take_as_made()
        else:
            await declare(self._channel, self.store.topology.plan())
        await self._purge(self._channel)
        await self.store.open()
        MADE.add(self._dsn)

    async def _purge(self, channel: AmqpChannel) -> None:
        """What the test before left; a link that ended gives back what it had a moment later, when
        its consumers go."""
        topology = self.store.topology
        lines = [*topology.broker_queues(), topology.dead, topology.lost]
        while True:
            asked = [channel.ask(commands.Queue.Declare(queue=n, passive=True)) for n in lines]
            answers: list[Any] = await asyncio.gather(*asked)
            if not any(answer.consumer_count for answer in answers):
                break
        full = [answer.queue for answer in answers if answer.message_count]
        await asyncio.gather(*(channel.ask(commands.Queue.Purge(queue=line)) for line in full))
        await channel.call(commands.Queue.Delete(queue=topology.name("handler.resize")))

    async def reopen(self) -> None:
        await self.store.settled()
        await self.store.leave(-1)
        await self.store.close()
        self.store = self._new()
        await self.store.open()

    async def rows(self, sql: str) -> Rows:
        state = self.store.state
        assert isinstance(state, SqliteStore)
        return await state.read("test", lambda db: db.connection.execute(sql).fetchall())

    async def close(self) -> None:
        await self.store.leave(-1)
        await self.store.close()
        if self._connection is not None:
            await self._connection.close()
