"""Announces this worker, tracks the others, and takes this worker's share of the shards."""

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
from postroad.stores.rabbitmq.topology.topology import Topology

Broadcast = Callable[[str, bytes], None]
"""Sends to an exchange without waiting, over the publishing connection: a broker that is short of
memory stops reading from a connection that publishes, and acks must go on."""


class QueueConsumer(Protocol):
    """Starts and stops the consumer of a target."""

    async def take(self, target: str) -> None:
        """Start to consume a target."""

    async def give_back(self, target: str) -> None:
        """Start no more messages of a target, wait for those in flight, and stop its consumer."""


class Fleet:
    """One worker among others. There is no leader: all compute the same shares from who is alive.
    The broker allows one active consumer a shard: a worker that takes one too early waits."""

    def __init__(
        self,
        me: str,
        topology: Topology,
        broadcast: Broadcast,
        consumer: QueueConsumer,
        clock: Clock,
        log: Log,
    ) -> None:
        self.mine: frozenset[int] = frozenset()
        self.settled = asyncio.Event()
        """Set when this worker has taken its share for the first time on this connection."""
        self.me = me
        self._roster = Roster(me)
        self._topology = topology
        self._clock = clock
        self._send = broadcast
        self._consumer = consumer
        self._log = log
        self.tasks = Tasks(log)
        self._changed = asyncio.Event()
        self._giving: dict[int, asyncio.Task[None]] = {}
        self._connected = False

    def connected(self) -> None:
        """Begin on a new connection, with no shard."""
        self._connected = True
        self._broadcast("hello")
        self._changed.set()

    def disconnected(self) -> None:
        """Forget all shards: the connection is lost."""
        self._connected = False
        self.settled.clear()
        self.mine = frozenset()
        self._roster.forget()

    def receive(self, body: bytes) -> None:
        """Take a presence message from the exchange. A worker receives its own, too."""
        message = presence.read(body)
        if message is None:
            return
        before = self._roster.alive
        self._roster.receive(message, self._clock.steady_s())
        if message.word == "hello" and message.worker != self._roster.me:
            self._broadcast("here")
        if self._roster.alive != before:
            self._changed.set()

    @property
    def workers(self) -> frozenset[str]:
        """All workers that are alive, this one included."""
        return self._roster.alive

    async def run(self) -> None:
        """Announce this worker regularly, and adjust its shards when workers come or go."""
        while True:
            timer = self._clock.later(int(BEAT_S * 1000), self._changed.set)
            await self._changed.wait()
            self._changed.clear()
            timer.cancel()
            self._broadcast("here")
            await self._settle()

    async def leave(self) -> None:
        """Give all shards back, then announce it, so that the others take them at once."""
        await asyncio.gather(
            *(self._give_back(shard) for shard in self.mine), *self._giving.values()
        )
        self.mine = frozenset()
        self._broadcast("bye")

    async def _settle(self) -> None:
        if not self._connected:
            return
        due = share_of(self._roster.me, self._topology.shards, self.workers)
        for shard in self.mine - due:
            self.mine -= {shard}
            self._giving[shard] = self.tasks.start(self._give_back(shard), f"give {shard}")
        for shard in due - self.mine - self._giving.keys():
            try:
                await self._consumer.take(f"shard.{shard}")
            except StoreError as error:  # the connection is being lost: the next one starts afresh
                self._log.warning("could not take a shard", shard=shard, error=str(error))
                return
            self.mine |= {shard}
            self._log.debug("took a shard", shard=shard, workers=len(self.workers))
        self.settled.set()

    async def _give_back(self, shard: int) -> None:
        try:
            await self._consumer.give_back(f"shard.{shard}")
            self._log.debug("gave a shard back", shard=shard, workers=len(self.workers))
        except StoreError as error:
            self._log.warning(
                "could not give a shard back in good order", shard=shard, error=str(error)
            )
        finally:
            if self._giving.pop(shard, None) is not None:
                self._changed.set()  # it may be this worker's again by now

    def _broadcast(self, word: PresenceKind) -> None:
        if self._connected:
            self._send(self._topology.fleet, presence.write(PresenceMessage(self._roster.me, word)))
