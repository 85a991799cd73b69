"""The client's side of one connection to a hub: numbered commands with their answers, and frames
that nobody asked for."""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from msgspec import DecodeError
from msgspec.structs import replace
from picows import (
    WSCloseCode,
    WSError,
    WSFrame,
    WSListener,
    WSMsgType,
    WSParsedURL,
    WSTransport,
    ws_connect,
)

from postroad.hub.frames import MSGPACK, Asked, Codec, Error, Quota, Said
from postroad.hub.pings import Pings
from postroad.model.errors import HubAway, HubLost, HubRefused

CONNECT_S: Final = 10.0
FRAME_BYTES_MAX: Final = 1 << 20
"""A hub says at most a message of 64 KiB, or 256 names."""
SAID_CHARACTERS: Final = 200
CONTROL: Final = (WSMsgType.PING, WSMsgType.PONG)
CODEC: Final = Codec(MSGPACK)
FindAddresses = Callable[[], Awaitable[list[str]]]
"""Asked before each connection: the addresses to try in this order, as numbers."""


class ClientConnection(WSListener):
    """Sends commands and awaits their answers. `on_frame` gets QUOTA, and every frame that answers
    no command; it says whether they are too many."""

    def __init__(self, on_frame: Callable[[Said], bool], on_lost: Callable[[], None]) -> None:
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._open: dict[int, asyncio.Future[Said]] = {}
        self._numbers = 0
        self._transport: WSTransport | None = None
        self._ended = False
        self._pings = Pings()

    @classmethod
    async def connect(
        cls,
        url: str,
        on_frame: Callable[[Said], bool],
        on_lost: Callable[[], None],
        reach: FindAddresses | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> "ClientConnection":
        """Connect, or raise HubAway. Redirects are not followed."""
        addresses: list[str | None] = [None] if reach is None else [*await reach()]
        away = HubAway(f"{url} has no address")
        for address in addresses:
            try:
                return await cls._connect(url, lambda: cls(on_frame, on_lost), address, tls)
            except HubAway as error:
                away = error
        raise away

    @classmethod
    async def _connect(
        cls,
        url: str,
        make: "Callable[[], ClientConnection]",
        address: str | None,
        tls: ssl.SSLContext | None,
    ) -> "ClientConnection":
        try:
            async with asyncio.timeout(CONNECT_S):
                _, connection = await ws_connect(
                    make,
                    url,
                    ssl_context=tls,
                    extra_headers={"Sec-WebSocket-Protocol": MSGPACK},
                    websocket_handshake_timeout=CONNECT_S,
                    max_frame_size=FRAME_BYTES_MAX,
                    max_redirects=0,
                    enable_auto_pong=False,
                    logger_name=_silent(),
                    socket_factory=None if address is None else _at(address),
                )
        except (WSError, OSError, TimeoutError) as error:
            said = f"{url} cannot be reached: {type(error).__name__} {error}"
            said = "".join(each if each.isprintable() else " " for each in said)
            raise HubAway(said[: SAID_CHARACTERS + len(url)]) from error
        if not isinstance(connection, cls) or not connection.alive:  # ended meanwhile
            raise HubAway(f"{url} hung up at once")
        return connection

    @property
    def alive(self) -> bool:
        """Whether commands can be sent."""
        return self._transport is not None

    async def ask(self, command: Asked) -> Said:
        """Send a command and await its answer. An error is raised as HubRefused."""
        if self._transport is None:
            raise HubAway("the connection to the hub is gone; nothing was sent")
        self._numbers += 1
        number = self._numbers
        answer: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        try:
            self._transport.send(WSMsgType.BINARY, CODEC.encode(replace(command, n=number)))
            said = await answer
        finally:
            self._open.pop(number, None)
        if isinstance(said, Error):
            raise HubRefused(said.code, said.text)
        return said

    def hang_up(self, why: str) -> None:
        """Close the connection because the hub broke the protocol; nothing more is read."""
        self._ended = True
        if self._transport is not None:
            self._transport.send_close(WSCloseCode.POLICY_VIOLATION, why.encode())
            self._transport.underlying_transport.abort()

    async def close(self) -> None:
        """Close the connection in order."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.send_close(WSCloseCode.OK)
            transport.disconnect()
            await transport.wait_disconnected()

    def on_ws_connected(self, transport: WSTransport) -> None:
        """The handshake is done."""
        self._transport = transport

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """Handle an answer, or a frame that nobody asked for."""
        if self._ended:
            return
        if frame.msg_type != WSMsgType.BINARY:
            self._control(transport, frame)
            return
        try:
            said = CODEC.event(frame.get_payload_as_bytes())
        except (DecodeError, UnicodeDecodeError, RecursionError):
            self.hang_up("that is no frame of a hub")
            return
        unasked = isinstance(said, Quota) or not said.n
        if unasked and self._on_frame(said):  # in order: its continue may follow at once
            self.hang_up("the hub sent a frame that answers no request")
            return
        answer = self._open.get(said.n)
        if answer is not None and not answer.done():
            answer.set_result(said)

    def _control(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE:
            self._ended = True
            transport.send_close(WSCloseCode.OK)
            transport.disconnect()
        elif frame.msg_type not in CONTROL:
            self.hang_up("that is no frame of a hub")
        elif self._pings.are_too_many(asyncio.get_running_loop().time()):
            self.hang_up("too many pings")
        elif frame.msg_type == WSMsgType.PING:
            transport.send_pong(frame.get_payload_as_bytes())

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        """The connection ended: commands without an answer fail."""
        self._transport = None
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(HubLost("the connection broke before the hub answered"))
        self._open = {}
        self._on_lost()
        self._hearing = asyncio.get_running_loop().create_task(_hear_end(transport))


async def _hear_end(transport: WSTransport) -> None:
    """Read the task's exception: why the hub ended the connection is not logged."""
    with suppress(Exception):
        await transport.wait_disconnected()


def _at(address: str) -> Callable[[WSParsedURL], Awaitable[socket.socket]]:
    """Connect to this address, wherever the name in the URL leads by now."""

    async def connected(url: WSParsedURL) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, (address, url.port))
        except BaseException:
            sock.close()
            raise
        return sock

    return connected


def _silent() -> "logging.LoggerAdapter[logging.Logger]":
    """Silence picows: nothing that a stranger sends is logged."""
    log = logging.getLogger("postroad.picows")
    log.setLevel(logging.CRITICAL + 1)
    return logging.LoggerAdapter(log, {})
