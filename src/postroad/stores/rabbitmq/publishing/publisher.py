"""Publishes with pipelined confirms, bounded memory, and named errors for a blocked broker."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from postroad.model.errors import BodyTooLarge, BrokerBlocked, PostroadError, StoreError, Unroutable
from postroad.ports.clock import Clock, Timer
from postroad.stores.rabbitmq.envelope import BODY_BYTES_MAX
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.confirms import Confirm
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.supervisor import Prepare, Supervisor

CHANNELS: Final = 4
"""A quorum queue takes 32 commands of a channel at a time: with four channels 22,000 messages a
second are confirmed instead of 18,000, on one queue."""
WINDOW: Final = 1_024
"""Maximum unconfirmed publishes of a channel. More gain nothing, so they wait here."""
WAIT_S: Final = 10.0
"""How long a publish waits for a connection, for a free channel, or for a blocked broker."""
CONFIRM_S: Final = 30.0


class PackedMessage(Struct, frozen=True, gc=False):
    """An encoded message. `packed` holds its properties with a unique message id."""

    exchange: str
    key: str
    packed: bytes
    body: bytes


class Publisher:
    """Publishes over its own connection: a broker that blocks publishers stops reading from it."""

    def __init__(
        self,
        supervise: Callable[[Prepare], Supervisor],
        declare: Prepare,
        clock: Clock,
        *,
        wait_s: float = WAIT_S,
    ) -> None:
        self.on_return: Callable[[Unroutable], None] | None = None
        self.supervisor = supervise(self._prepare)
        self.supervisor.on_blocked = self._on_blocked
        self.supervisor.on_down = self._on_down
        self._declare = declare
        self._clock = clock
        self._wait_s = wait_s
        self._channels: list[AmqpChannel] = []
        self._unconfirmed_channel: AmqpChannel | None = None  # without confirms
        self._turn = 0
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._blocked_timer: Timer | None = None
        self._blocked_too_long = False
        self._check_timer: Timer | None = None
        self._oldest: list[Confirm | None] = []

    async def open(self) -> None:
        """Connect; errors are raised."""
        await self.supervisor.open()
        self._check_oldest()

    async def close(self) -> None:
        """Wait for open confirms, for a bounded time; then close."""
        with suppress(TimeoutError):  # those that are still open fail with the connection
            async with asyncio.timeout(self._wait_s):
                for channel in self._channels:
                    while channel.unconfirmed:
                        await asyncio.wait([channel.next_answer()])
        for timer in (self._check_timer, self._blocked_timer):
            if timer is not None:
                timer.cancel()
        await self.supervisor.close()

    @property
    def blocked(self) -> str:
        """Why the broker takes no messages now; "" when it takes them."""
        connection = self.supervisor.connection
        return connection.blocked if connection is not None else ""

    async def publish(self, messages: Sequence[PackedMessage]) -> list[PostroadError | None]:
        """Publish messages pipelined; answers an error for each, or None when the broker has stored
        it. After `BrokerLost` and `BrokerBlocked` it may have stored it, too."""
        self._turn += 1
        confirms: list[Confirm | PostroadError] = []
        try:
            async with asyncio.timeout(self._wait_s):
                for message in messages:
                    confirm = self._put(message) or await self._write(message)
                    confirms.append(confirm)
        except (TimeoutError, StoreError):  # it took too long, or this was closed meanwhile
            confirms += [self._unavailable()] * (len(messages) - len(confirms))
        return [
            each if isinstance(each, PostroadError) else await _outcome(each) for each in confirms
        ]

    def put(self, message: PackedMessage) -> Confirm | None:
        """Write a message now. None when that is not possible: `publish` then waits, or names the
        error."""
        self._turn += 1
        return self._put(message)

    def _put(self, message: PackedMessage) -> Confirm | None:
        channel = self._free_channel()
        if channel is None or len(message.body) > BODY_BYTES_MAX:
            return None
        return channel.publish(message.exchange, message.key, message.body, message.packed)

    def hand_over(self, message: PackedMessage) -> None:
        """Write a message without a confirm. A broker that dies now loses it; one that has no queue
        for it calls `on_return`."""
        _check_size(message)
        # This channel has no confirms.
        _ = self.unconfirmed_channel().publish(
            message.exchange, message.key, message.body, message.packed
        )

    def unconfirmed_channel(self) -> AmqpChannel:
        """The channel without confirms; an error is raised when nothing can be written now."""
        connection = self.supervisor.connection
        if connection is None or self._unconfirmed_channel is None:
            raise self.supervisor.why
        if not connection.takes:
            raise self._unavailable()
        return self._unconfirmed_channel

    async def _write(self, message: PackedMessage) -> Confirm | PostroadError:
        try:
            _check_size(message)
        except BodyTooLarge as error:
            return error
        while True:
            channel = self._free_channel() or await self._wait_for_channel()
            if channel is None:
                return self._unavailable()
            try:
                confirm = channel.publish(
                    message.exchange, message.key, message.body, message.packed
                )
            except StoreError:
                continue  # the channel is lost and nothing was written: try the next one
            if confirm is not None:
                return confirm

    def _free_channel(self) -> AmqpChannel | None:
        connection = self.supervisor.connection
        if connection is None or not connection.takes:
            return None
        for ahead in range(len(self._channels)):
            channel = self._channels[(self._turn + ahead) % len(self._channels)]
            if channel.unconfirmed < WINDOW and channel.lost is None:
                return channel
        return None

    async def _wait_for_channel(self) -> AmqpChannel | None:
        """Wait for a channel below its window; None when the broker has been blocked for too
        long."""
        while (channel := self._free_channel()) is None:
            if self._blocked_too_long:
                return None
            connection = await self.supervisor.ready()
            await connection.writable.wait()
            await self._flowing.wait()
            if self._free_channel() is None and connection is self.supervisor.connection:
                next_answer = [each.next_answer() for each in self._channels if each.unconfirmed]
                if next_answer:
                    await asyncio.wait(next_answer, return_when=asyncio.FIRST_COMPLETED)
        return channel

    def _unavailable(self) -> StoreError:
        if self.supervisor.connection is None:
            return self.supervisor.why
        return BrokerBlocked(
            f"RabbitMQ takes no messages now ({self.blocked or 'it reads nothing'}):"
            " see `rabbitmq-diagnostics alarms`, and send again later"
        )

    async def _prepare(self, connection: AmqpConnection) -> None:
        await self._declare(connection)
        made = [
            await connection.channel(confirms=True, on_lost=self._lost) for _ in range(CHANNELS)
        ]
        self._unconfirmed_channel = await connection.channel(on_lost=self._lost)
        self._unconfirmed_channel.on_return = self._returned
        self._channels = made

    def _lost(self, error: StoreError) -> None:
        self.supervisor.rebuild(str(error))

    def _returned(self, error: Unroutable) -> None:
        if self.on_return is not None:
            self.on_return(error)

    def _on_down(self, _: StoreError) -> None:
        self._on_blocked("")

    def _on_blocked(self, reason: str) -> None:
        if self._blocked_timer is not None:
            self._blocked_timer.cancel()
            self._blocked_timer = None
        self._blocked_too_long = False
        if reason:
            self._flowing.clear()
            self._blocked_timer = self._clock.later(int(self._wait_s * 1000), self._give_up)
        else:
            self._flowing.set()

    def _give_up(self) -> None:
        """Fail all open publishes, and new ones at once: the broker has been blocked for too
        long."""
        self._blocked_too_long = True
        error = self._unavailable()
        for channel in self._channels:
            channel.give_up(error)
        self._flowing.set()

    def _check_oldest(self) -> None:
        """Reconnect when the oldest publish is the same as at the last check: it will never be
        confirmed."""
        oldest = [channel.oldest for channel in self._channels]
        stuck = any(
            now is not None and now is then for now, then in zip(oldest, self._oldest, strict=False)
        )
        if stuck and not self.blocked:
            self.supervisor.rebuild(f"no confirm came for {CONFIRM_S:.0f} s")
        self._oldest = oldest
        self._check_timer = self._clock.later(int(CONFIRM_S * 1000), self._check_oldest)


def _check_size(message: PackedMessage) -> None:
    size = len(message.body)
    if size > BODY_BYTES_MAX:
        raise BodyTooLarge(
            f"the body has {size} bytes, RabbitMQ gets at most {BODY_BYTES_MAX}:"
            " store it elsewhere, and send where it is"
        )


async def _outcome(confirm: Confirm) -> StoreError | None:
    try:
        await confirm
    except StoreError as error:
        return error
    return None
