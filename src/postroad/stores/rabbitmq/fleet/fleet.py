"""The fleet: says that this worker is here, hears who else is, and takes its share of shards."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from postroad.model.errors import StoreError
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.fleet import presence
from postroad.stores.rabbitmq.fleet.presence import BEAT_S, PresenceKind, PresenceMessage, Roster
from postroad.stores.rabbitmq.fleet.rendezvous import share_of


class ShardConsumer(Protocol):
    """How shards change hands. The broker guards each with a single active consumer: whoever takes
    one too early waits in line."""

    async def take(self, shard: int) -> None:
        """Consume it from now on."""

    async def give(self, shard: int) -> None:
        """Start nothing more of it; let go when what is in flight has ended."""


class Fleet:
    """One worker among others. Nobody decides: all compute the same from who was heard."""

    def __init__(
        self,
        me: str,
        shards: int,
        clock: Clock,
        broadcast: Callable[[bytes], None],
        shard_consumer: ShardConsumer,
        log: Log,
    ) -> None:
        self.mine: frozenset[int] = frozenset()
        self.settled = asyncio.Event()
        """Set when this worker has taken its share for the first time since there is a link."""
        self._roster = Roster(me)
        self._shards = shards
        self._clock = clock
        self._send_bytes = broadcast
        self._shard_consumer = shard_consumer
        self._log = log
        self.tasks = Tasks(log)
        self._news = asyncio.Event()
        self._giving: dict[int, asyncio.Task[None]] = {}
        self._connected = False

    def connected(self) -> None:
        """There is a link to the broker, and none of what an earlier one consumed."""
        self._connected = True
        self._broadcast(PresenceKind.hello)
        self._news.set()

    def disconnected(self) -> None:
        """The link is lost, and all shards with it."""
        self._connected = False
        self.settled.clear()
        self.mine = frozenset()
        self._roster.forget()

    def hear(self, body: bytes) -> None:
        """Somebody said something on the exchange; oneself is heard too."""
        sign = presence.read(body)
        if sign is None:
            return
        before = self._roster.alive
        self._roster.hear(sign, self._clock.steady_s())
        if sign.word is PresenceKind.hello and sign.worker != self._roster.me:
            self._broadcast(PresenceKind.here)
        if self._roster.alive != before:
            self._news.set()

    @property
    def workers(self) -> frozenset[str]:
        """Everybody who counts now, oneself included."""
        return self._roster.alive

    async def run(self) -> None:
        """Beat, and take or give shards when somebody came, went or fell silent."""
        while True:
            timer = self._clock.later(int(BEAT_S * 1000), self._news.set)
            await self._news.wait()
            self._news.clear()
            timer.cancel()
            self._broadcast(PresenceKind.here)
            await self._settle()

    async def leave(self) -> None:
        """Give everything back in good order, then say so: the others take it at once."""
        await asyncio.gather(*(self._give(shard) for shard in self.mine), *self._giving.values())
        self.mine = frozenset()
        self._broadcast(PresenceKind.bye)

    async def _settle(self) -> None:
        if not self._connected:
            return
        due = share_of(self._roster.me, self._shards, self.workers)
        for shard in self.mine - due:
            self.mine -= {shard}
            self._giving[shard] = self.tasks.start(self._give(shard), f"give {shard}")
        for shard in due - self.mine - self._giving.keys():
            try:
                await self._shard_consumer.take(shard)
            except StoreError as error:  # the link is going: its successor starts afresh
                self._log.warning("a shard could not be taken", shard=shard, error=str(error))
                return
            self.mine |= {shard}
            self._log.info("shard taken", shard=shard, workers=len(self.workers))
        self.settled.set()

    async def _give(self, shard: int) -> None:
        try:
            await self._shard_consumer.give(shard)
            self._log.info("shard given back", shard=shard, workers=len(self.workers))
        except StoreError as error:
            self._log.warning("a shard was lost", shard=shard, error=str(error))
        finally:
            if self._giving.pop(shard, None) is not None:
                self._news.set()  # it may be ours again by now

    def _broadcast(self, word: PresenceKind) -> None:
        if self._connected:
            self._send_bytes(presence.write(PresenceMessage(self._roster.me, word)))
