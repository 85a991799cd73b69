"""Keeps one connection to the broker open: a state machine that reconnects after any loss."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from functools import partial
from typing import Final

from postroad.model.errors import BrokerLost, StoreError
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Chance, Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.wire.address import BrokerAddress
from postroad.stores.rabbitmq.wire.connection import AmqpConnection

BACKOFF_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)

Prepare = Callable[[AmqpConnection], Awaitable[None]]
Undo = Callable[[], Awaitable[None]]


class ConnectionState(StrEnum):
    """The state of a supervised connection."""

    AWAY = "away"
    OPENING = "opening"
    READY = "ready"
    CLOSED = "closed"


class Supervisor:
    """away → opening → ready → away …, until closed. When the connection, or anything that
    `prepare` made on it, is lost, the connection is replaced: nothing is repaired in place."""

    def __init__(
        self,
        address: BrokerAddress,
        name: str,
        prepare: Prepare,
        clock: Clock,
        chance: Chance,
        log: Log,
    ) -> None:
        self.state = ConnectionState.AWAY
        self.generation = 0
        self.why: StoreError = BrokerLost(f"{address.name}: not connected yet")
        self.connection: AmqpConnection | None = None
        self.on_down: Callable[[StoreError], None] = _nothing
        self.undo: Undo | None = None
        """Called after a connection was lost, and after one that could not be prepared."""
        self.on_blocked: Callable[[str], None] = _nothing
        self._address = address
        self._name = name
        self._connecting = f"connect to RabbitMQ ({name})"
        self._prepare = prepare
        self._clock = clock
        self._chance = chance
        self._log = log
        self.tasks = Tasks(log)
        self._failure = ""
        self._ready = asyncio.Event()
        self._down = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect; errors are raised. From then on the connection is kept open."""
        await self._connect()
        self._run()

    def start(self) -> None:
        """Connect in the background; errors are logged, and the connection is tried again."""
        self._down.set()
        self._run()

    def _run(self) -> None:
        self._task = self.tasks.start(self._keep(), f"{self._name}: connection to RabbitMQ")

    async def ready(self) -> AmqpConnection:
        """Wait for the connection. Callers bound the wait."""
        while self.connection is None:
            if self.state is ConnectionState.CLOSED:
                raise self.why
            await self._ready.wait()
        return self.connection

    def rebuild(self, why: str) -> None:
        """Drop the connection and connect again."""
        if self.connection is not None:
            self.connection.abort(why)
        elif self.state is ConnectionState.OPENING:
            self._failure = why

    async def close(self) -> None:
        """Close the connection and stop."""
        if self.state is ConnectionState.CLOSED:
            return
        self.state = ConnectionState.CLOSED
        self.why = BrokerLost(f"{self._address.name}: closed")
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        connection, self.connection = self.connection, None
        self._ready.set()
        if connection is not None:
            await connection.close()

    async def _keep(self) -> None:
        while True:
            await self._down.wait()
            failures = 0
            while self.connection is None:
                await self._undone()
                if self.generation:
                    pause_s = BACKOFF_S[min(failures, len(BACKOFF_S) - 1)]
                    await self._clock.sleep(pause_s * (0.5 + self._chance.random()))
                try:
                    await self._connect()
                    self._log.store_works(self._connecting)
                except StoreError as error:
                    # Wrong credentials are retried too: an operator may be changing them.
                    self.why = error
                    failures += 1
                    self._log.store_failed(self._connecting, error)

    async def _undone(self) -> None:
        if self.undo is not None and self.generation:
            await self.undo()

    async def _connect(self) -> None:
        self.state = ConnectionState.OPENING
        self.generation += 1
        self._failure = ""
        connection: AmqpConnection | None = None
        try:
            connection = await AmqpConnection.open(
                self._address,
                name=self._name,
                on_lost=partial(self._lost, self.generation),
                on_blocked=self._blocked,
                clock=self._clock,
            )
            await self._prepare(connection)
            self._check(connection)
        except BaseException:
            if self.state is ConnectionState.OPENING:
                self.state = ConnectionState.AWAY
            if connection is not None:
                connection.abort("given up")
            raise
        self._down.clear()
        self.connection = connection
        self.state = ConnectionState.READY
        self._ready.set()

    def _check(self, connection: AmqpConnection) -> None:
        """Raise an error if the connection was lost while it was being prepared."""
        if connection.lost is not None:
            raise connection.lost
        if self._failure:
            raise BrokerLost(self._failure)

    def _lost(self, generation: int, error: StoreError) -> None:
        if generation != self.generation or self.state is not ConnectionState.READY:
            return  # while it is opening, `_connect` notices
        self.state = ConnectionState.AWAY
        self.why = error
        self.connection = None
        self._ready.clear()
        self._down.set()
        self._log.store_failed(self._connecting, error)
        self.on_down(error)

    def _blocked(self, reason: str) -> None:
        self._log.warning(
            "RabbitMQ blocks publishers" if reason else "RabbitMQ takes messages again",
            connection=self._name,
            why=reason,
        )
        self.on_blocked(reason)


def _nothing(_: object) -> None:
    """Ignore the event."""
