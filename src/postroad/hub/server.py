"""The hub's port, for WebSocket and HTTP, with limits on connections."""

import asyncio
import logging
import re
import socket
import ssl
from functools import partial
from typing import Any, Final, cast

import h11
from picows import WSAutoPingStrategy, WSUpgradeRequest, WSUpgradeResponse
from picows import WSUpgradeResponseWithListener as Upgrade
from picows.picows import WSProtocol  # type: ignore[attr-defined]

from postroad.hub.access import HubTokens
from postroad.hub.commands import Commands
from postroad.hub.connection_limits import PROXIES, HubConnectionLimits
from postroad.hub.deadlines import HasDeadline
from postroad.hub.frames import JSON, MSGPACK, Codec
from postroad.hub.http import HEAD_BYTES_MAX, TOO_MANY_WRONG, HttpProtocol
from postroad.hub.pump import TICK_MS, Hub
from postroad.hub.socket import WebSocketSession
from postroad.hub.tls_listener import BACKLOG, TlsListener
from postroad.model.cors import Cors
from postroad.model.networks import Proxies
from postroad.ports.clock import Timer

UPGRADE: Final = re.compile(rb"\r\nupgrade:[ \t]*websocket")
HEAD_END: Final = b"\r\n\r\n"
FORWARDED: Final = "X-Forwarded-For"
LATE_AT_ONCE: Final = 25
"""How many late connections are closed in one turn of the loop, some 20 µs each."""
MORE_MS: Final = 5
STOP_LOOKS: Final = 20
STOP_LOOK_S: Final = 0.05
READ_BYTES: Final = 4 * 1024
"""The read buffer that an idle WebSocket keeps, and the most that is read at once: 680 of the
smallest frames. picows doubles it with each read that fills it, and 100,000 came in one turn."""
KEEPALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 20),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)
"""The kernel asks after idle clients, not this process."""
ENDINGS: Final = {
    408: "Request Timeout",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class HubServer:
    """Listens, and knows the open connections."""

    def __init__(
        self,
        hub: Hub,
        keys: HubTokens | None = None,
        origins: tuple[str, ...] = (),
        proxies: tuple[str, ...] = (),
    ) -> None:
        self.hub = hub
        self.cors = Cors(origins)
        self.connection_limits = HubConnectionLimits(
            hub.limits, hub.clock, hub.log, Proxies(proxies)
        )
        self.open_transports: set[asyncio.Transport] = set()
        self.address = ""
        """Where it listens, as a number."""
        self.commands = Commands(hub, keys or HubTokens())
        self._codecs = {name: Codec(name) for name in (JSON, MSGPACK)}
        # Nothing that a stranger sends is worth a line in the log.
        self._log = logging.LoggerAdapter(logging.getLogger("postroad.picows"), {})
        self._log.logger.setLevel(logging.CRITICAL + 1)
        self._due: dict[HasDeadline, float] = {}
        self._timer: Timer | None = None
        self._listening: asyncio.Server | None = None
        self._tls_listener: TlsListener | None = None

    async def start(
        self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
    ) -> int:
        """Listen, and return the port."""
        found: int
        if tls is not None:
            connection_limits, clock, limit_s = (
                self.connection_limits,
                self.hub.clock,
                self.hub.limits.handshake_s,
            )
            self._tls_listener = TlsListener(
                connection_limits, clock, tls, limit_s, lambda name: UndecidedConnection(self, name)
            )
            self.address, found = await self._tls_listener.start(host, port)
            return found
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(
            lambda: UndecidedConnection(self), host, port, backlog=BACKLOG
        )
        self.address, found = self._listening.sockets[0].getsockname()[:2]
        return found

    async def stop(self) -> None:
        """Accept no more connections, and tell the open ones to connect again later."""
        if self._timer is not None:
            self._timer.cancel()
        if self._tls_listener is not None:
            self._tls_listener.close()
        if self._listening is not None:
            self._listening.close()
        for client in list(self.hub.core.clients.values()):
            client.link.close(1001, "the hub goes away")
        await self._drain_writes()

    async def _drain_writes(self) -> None:
        """Wait until clients have read their last frames, then cut them off: the loop would never
        close."""
        for _ in range(STOP_LOOKS):
            if not any(each.get_write_buffer_size() for each in self.open_transports):
                return
            await self.hub.clock.sleep(STOP_LOOK_S)
        for each in list(self.open_transports):
            each.abort()

    def set_deadline(self, protocol: HasDeadline, seconds: float | None) -> None:
        """Set the connection's deadline to so many seconds from now; None removes it."""
        if seconds is None:
            self._due.pop(protocol, None)
            return
        self._due[protocol] = self.hub.clock.steady_s() + seconds
        if self._timer is None:
            self._timer = self.hub.clock.later(TICK_MS, self._tick)

    def _tick(self) -> None:
        now_s = self.hub.clock.steady_s()
        self._timer = None
        late = [each for each, until_s in self._due.items() if until_s <= now_s]
        for protocol in late[:LATE_AT_ONCE]:
            del self._due[protocol]
            protocol.deadline_passed()
        if self._due:
            wait_ms = TICK_MS if len(late) <= LATE_AT_ONCE else MORE_MS
            self._timer = self.hub.clock.later(wait_ms, self._tick)

    def upgrade(self, undecided: "UndecidedConnection", request: WSUpgradeRequest) -> Upgrade:
        """Choose a subprotocol that both sides know; JSON when none is named."""
        if refused := undecided.belongs_to(", ".join(request.headers.getall(FORWARDED, ()))):
            return Upgrade(WSUpgradeResponse.create_error_response(refused), None)
        named = request.headers.get("Sec-WebSocket-Protocol", "")
        offered = [name.strip() for name in named.split(",") if name.strip()]
        chosen = next((name for name in offered if name in self._codecs), None)
        if offered and chosen is None:
            text = f"no such subprotocol: use {JSON} or {MSGPACK}"
            return Upgrade(WSUpgradeResponse.create_error_response(400, text.encode()), None)
        response = WSUpgradeResponse.create_101_response()
        if chosen:
            response.headers["Sec-WebSocket-Protocol"] = chosen
        codec = self._codecs[chosen or JSON]
        return Upgrade(
            response, WebSocketSession(self.hub, self.commands, codec, undecided.wrong, self)
        )

    def websocket(self, undecided: "UndecidedConnection") -> "WebSocketConnection":
        """Make the protocol that speaks WebSocket on a connection."""
        limits = self.hub.limits
        return WebSocketConnection(
            undecided,
            (
                *(None, None, False, partial(self.upgrade, undecided), self._log, True),
                limits.handshake_s,
                *(False, 20, 20, WSAutoPingStrategy.PING_WHEN_IDLE, False),
                *(limits.frame_bytes_max, None, READ_BYTES),
            ),
        )


class WebSocketConnection(WSProtocol):  # type: ignore[misc]
    """picows' protocol, which also reports a connection that ends before its handshake."""

    def __init__(self, undecided: "UndecidedConnection", options: tuple[Any, ...]) -> None:
        super().__init__(*options)
        self._undecided = undecided

    def get_buffer(self, hint: int) -> memoryview:
        """Return the buffer for the next bytes."""
        room: memoryview = super().get_buffer(hint)
        return room[:READ_BYTES]

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ended."""
        super().connection_lost(exc)
        self._undecided.connection_lost(exc)


class UndecidedConnection(asyncio.Protocol):
    """A connection that has not sent the head of its first request yet."""

    def __init__(self, server: HubServer, counted: str = "") -> None:
        self._server = server
        self._network = self._source = counted
        """Where it comes from, if that was counted before; and whose wrong tokens are counted."""
        self._peer = ""
        self._head = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection, or refuse it."""
        self._transport = cast("asyncio.Transport", transport)
        server = self._server
        server.open_transports.add(self._transport)
        self._counted = self._transport
        self._peer = (transport.get_extra_info("peername") or ("nowhere",))[0]
        if not self._network:
            self._network = self._source = server.connection_limits.source(self._peer)
            if refused := server.connection_limits.enter(self._network):
                self._end(refused)
                return
        for option in KEEPALIVE:
            transport.get_extra_info("socket").setsockopt(*option)
        server.set_deadline(self, server.hub.limits.handshake_s)

    def data_received(self, data: bytes) -> None:
        """Read the head of the first request, which decides between WebSocket and HTTP."""
        if self._transport is None:
            return
        begin = max(0, len(self._head) - len(HEAD_END) + 1)
        self._head += data
        end = self._head.find(HEAD_END, begin)
        if end < 0:
            if len(self._head) > HEAD_BYTES_MAX:
                self._end(431)
            return
        whole, transport = bytes(self._head), self._transport
        self._head = bytearray()
        self._server.set_deadline(self, None)
        if UPGRADE.search(whole[:end].lower()):
            upgraded = self._server.websocket(self)
            transport.set_protocol(upgraded)
            upgraded.connection_made(transport)
            _feed(upgraded, whole)
        else:
            http = HttpConnection(self, self._server)
            transport.set_protocol(http)
            http.begin(transport)
            http.data_received(whole)

    def deadline_passed(self) -> None:
        """The head did not arrive in time."""
        self._end(408)

    def belongs_to(self, forwarded: str) -> int:
        """Count a WebSocket through a proxy for the client that the proxy names. Returns 0, or the
        HTTP status that refuses it."""
        if self._network != PROXIES:
            return 0
        limits = self._server.connection_limits
        limits.leave(self._network)
        self._network = self._source = limits.client(self._peer, forwarded)
        return limits.enter(self._network)

    def asks_for(self, forwarded: str) -> bool:
        """Note for whom a proxy makes its next request: a proxy's connection serves many clients.
        True when that one has sent too many wrong tokens."""
        if self._network != PROXIES:
            return False
        limits = self._server.connection_limits
        self._source = limits.client(self._peer, forwarded)
        return limits.is_guessing(self._source)

    def wrong(self, count: int) -> bool:
        """Count wrong tokens; True when the connection is to be closed for them."""
        return self._server.connection_limits.wrong(self._source, count)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The connection ended."""
        self._transport = None
        self._server.set_deadline(self, None)
        self._server.open_transports.discard(self._counted)
        self._server.connection_limits.leave(self._network)

    def _end(self, status: int) -> None:
        if self._transport is not None:
            line = f"HTTP/1.1 {status} {ENDINGS[status]}"
            self._transport.write(f"{line}\r\nconnection: close\r\n\r\n".encode())
            self._transport.close()
            self._transport = None


class HttpConnection(HttpProtocol):
    """An HTTP connection, which reports its end to the connection that it began as."""

    def __init__(self, undecided: UndecidedConnection, server: HubServer) -> None:
        super().__init__(server.hub, server.commands, server, undecided.wrong, server.cors)
        self._undecided = undecided

    def serve(self, request: h11.Request, body: bytes) -> None:
        """Answer a request, for the client that a proxy names."""
        given = [value for name, value in request.headers if name == FORWARDED.lower().encode()]
        if self._undecided.asks_for(b", ".join(given).decode("latin-1")):
            self.fail(429, TOO_MANY_WRONG)
        else:
            super().serve(request, body)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ended."""
        super().connection_lost(exc)
        self._undecided.connection_lost(exc)


def _feed(protocol: "WebSocketConnection", data: bytes) -> None:
    """Hand over the bytes that were read before the protocol changed."""
    while data:
        room = protocol.get_buffer(len(data))
        part = data[: len(room)]
        room[: len(part)] = part
        protocol.buffer_updated(len(part))
        data = data[len(part) :]
