"""A connection to a broker: handshake, channels, heartbeats."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Self, TypeVar, cast

from msgspec import Struct
from pamqp import base, commands
from pamqp import frame as pamqp_frame

from postroad.model.errors import BrokerLost, ServerTooOld, StoreError
from postroad.ports.clock import Clock, SystemClock, Timer
from postroad.stores.rabbitmq.wire.address import BrokerAddress
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.confirms import fail
from postroad.stores.rabbitmq.wire.errors import of_connection
from postroad.stores.rabbitmq.wire.frame_protocol import FRAME_MAX, FrameProtocol
from postroad.stores.rabbitmq.wire.frames import cold

OPEN_S: Final = 10.0
HEARTBEAT_S: Final = 10
CHANNELS_MAX: Final = 2_047
OLDEST: Final = (3, 10)
NEEDED: Final = ("publisher_confirms", "basic.nack", "consumer_cancel_notify", "connection.blocked")
SILENT_BEATS: Final = 4
OURS: Final = (*NEEDED, "authentication_failure_close", "exchange_exchange_bindings")

F = TypeVar("F", bound=base.Frame)


class ServerFacts(Struct, frozen=True):
    """The product, version and capabilities that a broker reports."""

    product: str
    version: str
    capabilities: frozenset[str]

    @property
    def number(self) -> tuple[int, ...]:
        """The version as numbers, for comparison."""
        parts = self.version[:40].split("-")[0].split(".")
        return tuple(int(part) for part in parts if part.isdecimal())


class AmqpConnection:
    """Made by `AmqpConnection.open`. `on_lost` is called once, unless `close` ended it."""

    def __init__(
        self,
        address: BrokerAddress,
        clock: Clock,
        on_lost: Callable[[StoreError], None],
        on_blocked: Callable[[str], None],
    ) -> None:
        self.server = ServerFacts("", "", frozenset())
        self.blocked = ""
        self.lost: StoreError | None = None
        self._address = address
        self._clock = clock
        self._on_lost = on_lost
        self._on_blocked = on_blocked
        self._wire = FrameProtocol(address.name, self._ended)
        self._wire.readers[0] = self
        self._awaited: tuple[type[base.Frame], asyncio.Future[base.Frame]] | None = None
        self._numbers = CHANNELS_MAX
        self._free: list[int] = []
        self._made = 0
        self._heartbeat_s = HEARTBEAT_S
        self._silent = 0
        self._timer: Timer | None = None

    @classmethod
    async def open(
        cls,
        address: BrokerAddress,
        *,
        name: str,
        on_lost: Callable[[StoreError], None] | None = None,
        on_blocked: Callable[[str], None] | None = None,
        clock: Clock | None = None,
        heartbeat_s: int = HEARTBEAT_S,
    ) -> Self:
        """Connect and log in. The broker's management page shows `name`. `on_blocked` gets the
        reason why the broker takes no publishes, and "" when it takes them again."""
        connection = cls(address, clock or SystemClock(), on_lost or _ignore, on_blocked or _ignore)
        connection._heartbeat_s = heartbeat_s
        try:
            async with asyncio.timeout(OPEN_S):
                start = connection._expect(
                    commands.Connection.Start
                )  # may arrive before connect returns
                await connection._connect()
                await connection._greet(name, await start)
        except TimeoutError:
            connection._drop(f"{address.name} did not answer within {OPEN_S:.0f} s")
        except OSError as error:
            connection._drop(f"{address.name} cannot be reached: {error.strerror or error}")
        except asyncio.CancelledError:
            connection._abandon()
            raise
        if connection.lost is not None:
            raise connection.lost
        connection._beat()
        return connection

    @property
    def takes(self) -> bool:
        """Whether the broker takes publishes, and reads what is written."""
        return not self.blocked and self._wire.can_write.is_set()

    @property
    def writable(self) -> asyncio.Event:
        """An event that is cleared while the broker does not read what is written."""
        return self._wire.can_write

    async def channel(
        self, *, confirms: bool = False, on_lost: Callable[[StoreError], None] | None = None
    ) -> AmqpChannel:
        """Open a channel, in confirm mode if asked for."""
        if self.lost is not None:
            raise self.lost
        if not self._free and self._made >= self._numbers:
            raise BrokerLost(f"{self._address.name} allows {self._numbers} channels, all in use")
        number = self._free.pop() if self._free else self._made + 1
        self._made = max(self._made, number)
        channel = AmqpChannel(number, self._wire, self._free.append, on_lost)
        self._wire.readers[number] = channel
        await channel.do(commands.Channel.Open())
        if confirms:
            await channel.confirm()
        return channel

    async def close(self) -> None:
        """Close the connection in good order."""
        if self.lost is not None:
            return
        self._on_lost = _ignore
        self._wire.flush()
        with suppress(TimeoutError, StoreError):  # it is closed either way
            async with asyncio.timeout(OPEN_S):
                # There is only one possible answer.
                _ = await self._call(
                    commands.Connection.Close(200, "", 0, 0), commands.Connection.CloseOk
                )
        self._drop("closed")
        await self._wire.gone.wait()

    def abort(self, why: str = "dropped") -> None:
        """Drop the connection without closing it at the broker, as a crash would."""
        self._drop(f"{self._address.name}: {why}")

    def on_method(self, data: bytes, at: int, stop: int) -> None:
        """Read a method of channel 0."""
        method = cold(data, at, stop)
        if isinstance(method, commands.Connection.Close):
            self._wire.send(pamqp_frame.marshal(commands.Connection.CloseOk(), 0))
            self._wire.end(
                of_connection(method.reply_code or 0, method.reply_text, self._address.name)
            )
        elif isinstance(method, commands.Connection.Blocked):
            self._tell_blocked(method.reason or "blocked")
        elif isinstance(method, commands.Connection.Unblocked):
            self._tell_blocked("")
        elif self._awaited is not None and isinstance(method, self._awaited[0]):
            if not self._awaited[1].done():
                self._awaited[1].set_result(method)
        else:
            self._wire.end(BrokerLost(f"{self._address.name} sent a method that was not expected"))

    def on_header(self, _data: bytes, _at: int, _stop: int) -> None:
        """Channel 0 carries no messages."""

    def on_body(self, _data: bytes, _at: int, _stop: int) -> None:
        """Channel 0 carries no messages."""

    def drain(self, _out: list[bytes]) -> None:
        """Do nothing: nothing is gathered on channel 0."""

    async def _connect(self) -> None:
        context = ssl.create_default_context() if self._address.tls else None
        loop = asyncio.get_running_loop()
        await loop.create_connection(
            lambda: self._wire, self._address.host, self._address.port, ssl=context
        )

    async def _greet(self, name: str, start: base.Frame) -> None:
        properties = (
            start.server_properties if isinstance(start, commands.Connection.Start) else None
        )
        self.server = _facts(properties or {})
        self._check_server()
        login = commands.Connection.StartOk(
            client_properties={
                "product": "Postroad",
                "connection_name": name,
                "capabilities": dict.fromkeys(OURS, True),
            },
            response=f"\0{self._address.user}\0{self._address.password}",
        )
        tune = await self._call(login, commands.Connection.Tune)
        self._numbers = min(tune.channel_max or CHANNELS_MAX, CHANNELS_MAX)
        self._wire.frame_max = min(tune.frame_max or FRAME_MAX, FRAME_MAX)
        self._heartbeat_s = min(tune.heartbeat or self._heartbeat_s, self._heartbeat_s)
        tuned = commands.Connection.TuneOk(self._numbers, self._wire.frame_max, self._heartbeat_s)
        self._wire.send(pamqp_frame.marshal(tuned, 0))
        vhost = commands.Connection.Open(virtual_host=self._address.vhost)
        # There is only one possible answer.
        _ = await self._call(vhost, commands.Connection.OpenOk)

    def _check_server(self) -> None:
        facts, where = self.server, self._address.name
        if facts.product != "RabbitMQ" or facts.number < OLDEST:
            self._wire.end(
                ServerTooOld(
                    f"{where} is {facts.product or 'some broker'} {facts.version}:"
                    " Postroad needs RabbitMQ 3.10 or newer, for delay queues that lose nothing"
                )
            )
        elif missing := [each for each in NEEDED if each not in facts.capabilities]:
            self._wire.end(
                ServerTooOld(f"{where} lacks {', '.join(missing)}, which Postroad needs")
            )

    async def _call(self, method: base.Frame, kind: type[F]) -> F:
        if self.lost is None:
            self._wire.send(pamqp_frame.marshal(method, 0))
        return await self._await(kind)

    async def _await(self, kind: type[F]) -> F:
        if self.lost is not None:
            raise self.lost
        return cast("F", await self._expect(kind))

    def _expect(self, kind: type[base.Frame]) -> asyncio.Future[base.Frame]:
        answer: asyncio.Future[base.Frame] = asyncio.get_running_loop().create_future()
        self._awaited = (kind, answer)
        return answer

    def _tell_blocked(self, reason: str) -> None:
        self.blocked = reason
        self._on_blocked(reason)

    def _beat(self) -> None:
        """Run twice per heartbeat interval: send a heartbeat, and measure the broker's silence."""
        self._silent = 0 if self._wire.received else self._silent + 1
        self._wire.received = False
        if self._silent > SILENT_BEATS:
            self._drop(f"{self._address.name} is silent for {2 * self._heartbeat_s} s")
            return
        self._wire.beat()
        self._timer = self._clock.later(self._heartbeat_s * 500, self._beat)

    def _drop(self, why: str) -> None:
        self._wire.abort()
        if self.lost is None:
            self._ended(BrokerLost(why))

    def _abandon(self) -> None:
        self._on_lost = _ignore
        self._drop("given up")

    def _ended(self, error: StoreError) -> None:
        if self.lost is not None:
            return
        self.lost = error
        if self._timer is not None:
            self._timer.cancel()
        if self._awaited is not None:
            fail(self._awaited[1], error)
        for reader in list(self._wire.readers.values()):
            if isinstance(reader, AmqpChannel):
                reader.fail(error)
        opened = self._timer is not None
        if opened:  # else `open` raises it
            self._on_lost(error)


def _ignore(_event: object) -> None:
    """Do nothing: a caller that closes a connection, or asks only once, needs no notice."""


def _facts(properties: dict[str, Any]) -> ServerFacts:
    can = properties.get("capabilities") or {}
    return ServerFacts(
        _text(properties.get("product")),
        _text(properties.get("version")),
        frozenset(name for name, able in can.items() if able),
    )


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
