"""The store on RabbitMQ under test: a vhost and a state file of its own.

Its time stands still until a test moves it, and so do the broker's delay queues: `advance` takes
what lies in them and publishes it as their end would, and the store itself puts back what is not
due. (That they end by themselves, and when, is shown in tests/rabbitmq.)
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from postroad.model.record import Claim, Record, Recorded, Swept
from postroad.ports.clock import Timer
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.options import Options
from postroad.stores.rabbitmq.routes import Post
from postroad.stores.rabbitmq.store import RabbitStore
from postroad.stores.rabbitmq.wire.address import read_address
from postroad.stores.rabbitmq.wire.link import Link
from postroad.stores.sqlite.store import SqliteStore
from tests.contract.clock import START_MS
from tests.contract.rigs import Rows
from tests.servers.rabbitmq import PrivateRabbit

PATIENCE_S: Final = 20.0
LEVELS: Final = 21


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

    def __init__(self, options: Options, state: SqliteStore) -> None:
        super().__init__(options, state)
        self._died = 0
        self._buried = 0
        self.serves = True

    async def open(self) -> None:
        await super().open()
        publish = self.broker.publish

        async def counted(posts: Sequence[Post]) -> None:
            await publish(posts)
            self._died += sum(post.exchange == self.topology.dead_exchange for post in posts)

        self.broker.publish = counted  # type: ignore[method-assign]
        await self.serving.start(-1, [])

    async def bury(self, letters: Sequence[Envelope]) -> None:
        await super().bury(letters)
        self._buried += len(letters)

    async def claim(
        self, owner: int, levels: Sequence[int], pools: Sequence[str], limit: int
    ) -> Claim:
        await self.serving.start(owner, pools)
        await self.settled()
        return await super().claim(owner, levels, pools, limit)

    async def record(self, record: Record) -> Recorded:
        recorded = await super().record(record)
        await self.settled()
        return recorded

    async def sweep(self, limit: int) -> Swept:
        await self.settled()
        swept = await super().sweep(limit)
        await self.settled()
        return swept

    async def settled(self) -> None:
        """Nothing is on its way."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                await self.serving.caught_up()
                if self._buried >= self._died and self.arrivals.idle:
                    return
                await asyncio.sleep(0.005)


class RabbitRig:
    """A vhost of its own on the broker of this run."""

    def __init__(self, broker: PrivateRabbit, folder: Path) -> None:
        self._broker = broker
        self._dsn = broker.create_vhost()
        self._path = folder / "state.db"
        self._clock = StandingClock()
        self.store = self._new()

    def _new(self) -> PatientStore:
        options = Options(read_address(self._dsn), f"sqlite:///{self._path}")
        return PatientStore(options, SqliteStore(self._path, self._clock))

    @property
    def now_ms(self) -> int:
        return self._clock.now_ms()

    async def advance(self, seconds: float) -> None:
        self._clock.advance(seconds)
        await self._end_delays()
        await self.store.settled()

    async def _end_delays(self) -> None:
        """The delay queues are over."""
        topology = self.store.topology
        link = await Link.open(
            read_address(self._dsn),
            name="rig",
            on_lost=lambda _: None,
            on_blocked=lambda _: None,
        )
        channel = await link.channel(confirms=True)
        for level in range(LEVELS):
            while letter := await channel.get(topology.name(f"delay.{level}")):
                confirm = channel.publish(
                    topology.wake, letter.key, letter.body, letter.packed, mandatory=True
                )
                assert confirm is not None
                await confirm
                channel.ack(letter.tag)
        await link.close()

    async def open(self) -> None:
        await self.store.open()

    async def reopen(self) -> None:
        await self.store.settled()
        await self.store.leave(-1)
        await self.store.close()
        self.store = self._new()
        await self.store.open()

    async def rows(self, sql: str) -> Rows:
        state = self.store.state
        assert isinstance(state, SqliteStore)
        return await state._read("test", lambda db: db.connection.execute(sql).fetchall())

    async def close(self) -> None:
        await self.store.close()
        await asyncio.to_thread(self._broker.delete_vhost, self._dsn)
