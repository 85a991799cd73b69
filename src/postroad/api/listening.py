"""HTTP/1.1 for the API: strict, bounded, and with a deadline for everything that a client sends."""

import asyncio
import math
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from postroad.api.connections import ApiConnections, LimitedConnection
from postroad.model.problem import Problem
from postroad.ports.clock import system_chance

HEAD_BYTES_MAX: Final = 64 << 10
HEADERS_MAX: Final = 100
FRAMING_BYTES_MAX: Final = 64 << 10
"""What chunks may cost beside what they carry, and as much again as they carry: a body in chunks of
one byte, six on the wire each, is refused after some 16,000 of them."""
PIPELINED_MAX: Final = 16
LEAST_BYTES_S: Final = 4_096
"""A body, or the reader of an answer, that is this fast or faster is never too slow."""
DROPS_MAX: Final = 3
DROP_BYTES: Final = 256
REST_S: Final = 1.0
CHANCE: Final = system_chance()
"""A request that comes in more small pieces than so many is read on after half a rest to one and a
half: hundreds that drip at the same moment are 500 reads of 27 µs in one turn (decision 045)."""
STALL_S: Final = 30.0
"""How long a client may read nothing of an answer."""
LINGER_S: Final = 2.0
LINGER_BYTES_MAX: Final = 64 << 20
"""What still comes after the last answer is thrown away for so long: closed at once, a connection
is reset, and the answer lost with it."""
REFUSALS: Final = {
    400: ("bad-request", "The request is not HTTP/1.1, or its body is cut off. Send it again."),
    408: ("request-timeout", "The request did not come in time. Send it again."),
    431: ("head-too-large", "The head of the request has too many or too long headers."),
    503: ("overloaded", "The server has too many connections. Try again later."),
    505: ("bad-version", "The request is of another version than HTTP/1.1."),
}
"""What is answered before there is a request: the word of the problem, and its meaning."""


class Phase(Enum):
    """What a connection waits for."""

    idle = auto()
    head = auto()
    body = auto()
    answer = auto()
    closing = auto()


UNFINISHED: Final = (Phase.head, Phase.body)


class BadHead(Exception):
    """A head that is refused, and the status of its answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class StrictProtocol(HttpToolsProtocol):
    """uvicorn's protocol with deadlines and bounds. llhttp refuses what two readers may read in two
    ways: lengths beside chunks, two lengths, folded lines, lone CR or LF."""

    def __init__(self, connections: ApiConnections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self.address = ""
        self.handshake: LimitedConnection | None = None
        """The connection's entry in `ApiConnections` during the TLS handshake."""
        self._connections = connections
        self._phase = Phase.head
        self._until_s = math.inf
        self._looked_s = 0.0
        self._stalled_until_s = math.inf
        self._wire_bytes = self._body_bytes = self._drops = 0

    # Called by the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline for the first request."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self._until_s = self.loop.time() + self._connections.limits.head_s
        if self.handshake is not None:
            self._connections.forget(self.handshake)
        if not self._connections.admit(self):
            transport.write(
                problem_bytes(503, "this server has too many connections: try again later")
            )
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection, and those who wait for the rest of its body."""
        self._connections.forget(self)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, within the limits."""
        self._wire_bytes += len(data)
        if self._phase is Phase.closing:
            if self._wire_bytes > LINGER_BYTES_MAX:
                self.transport.abort()
            return
        self._unset_keepalive_if_required()
        if self._phase is Phase.idle:
            self._head_begins()
            self._wire_bytes = len(data)
        elif self._phase is Phase.body:
            self._until_s += len(data) / LEAST_BYTES_S
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.cycle.keep_alive = False  # answered as if it had not asked; the parser has ended
        except httptools.HttpParserError as error:
            self._bad(error)
            return
        if len(data) < DROP_BYTES and self._phase in UNFINISHED:
            self._drips()
        if self._phase is Phase.head and self._wire_bytes > HEAD_BYTES_MAX:
            self._refuse(431, f"the head of a request has more than {HEAD_BYTES_MAX} bytes")
        elif self._phase is Phase.body and self._framing_too_much():
            self._refuse(400, "the body's chunks are too small: send more bytes in each")

    def _drips(self) -> None:
        self._drops += 1
        if self._drops > DROPS_MAX:
            self.transport.pause_reading()
            self.loop.call_later(REST_S * (0.5 + CHANCE.random()), self._read_on)

    def _read_on(self) -> None:
        if not (self.flow.read_paused or self.transport.is_closing()):
            self.transport.resume_reading()

    def _framing_too_much(self) -> bool:
        return self._wire_bytes > 2 * self._body_bytes + FRAMING_BYTES_MAX

    def _bad(self, error: Exception) -> None:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, BadHead):
            cause = cause.__context__
        if cause is not None:
            self._refuse(cause.status, str(cause))
        else:
            self._refuse(400, f"this is no HTTP/1.1 request: {str(error)[:200]}")

    def pause_writing(self) -> None:
        """Start the deadline of a client that reads too slowly."""
        waiting = self.transport.get_write_buffer_size()
        self._stalled_until_s = self.loop.time() + STALL_S + waiting / LEAST_BYTES_S
        super().pause_writing()

    def resume_writing(self) -> None:
        """End that deadline: the client reads again."""
        self._stalled_until_s = math.inf
        super().resume_writing()

    # Called by the parser

    def _head_begins(self) -> None:
        self._phase = Phase.head
        self._wire_bytes = self._drops = 0
        self._until_s = self.loop.time() + self._connections.limits.head_s

    def on_message_begin(self) -> None:
        """Start a request; it may follow another at once."""
        if self._phase is not Phase.head:
            self._head_begins()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header of the head; trailers behind a body are ignored."""
        if self._phase is Phase.head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the head, then start the application."""
        self._check_head()
        self._phase = Phase.body
        self._until_s = self._looked_s = self.loop.time()
        self._until_s += self._connections.limits.body_s
        self._wire_bytes = self._body_bytes = 0
        if len(self.pipeline) >= PIPELINED_MAX:
            raise BadHead(400, "too many requests at once: wait for answers")
        self._connections.is_busy(self)
        super().on_headers_complete()
        self.cycle.transport = ResponseTransport(self.transport, self._close_after_reading)  # type: ignore[assignment]
        self.scope["exchange"] = self.cycle  # type: ignore[typeddict-unknown-key]
        self.scope["sender"] = self.address  # type: ignore[typeddict-unknown-key]

    def _check_head(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_BYTES_MAX or len(self.headers) > HEADERS_MAX:
            raise BadHead(431, f"give at most {HEADERS_MAX} headers, {HEAD_BYTES_MAX} bytes in all")
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise BadHead(505, "this server speaks HTTP/1.1")
        if not self.url.startswith(b"/"):
            raise BadHead(400, "give a path that begins with /")
        names = [name for name, _ in self.headers]
        hosts = names.count(b"host")
        if hosts > 1 or (version == "1.1" and not hosts):
            raise BadHead(400, "give the header Host, once")
        for name, value in self.headers:
            if name == b"transfer-encoding" and (version == "1.0" or value.lower() != b"chunked"):
                raise BadHead(400, "a body is sent with Content-Length, or in chunks")

    def on_body(self, body: bytes) -> None:
        """Pass on a piece of the body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the deadline of the request: from here on the server may take its time."""
        self._phase = Phase.answer
        self._until_s = math.inf
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        if self._phase is Phase.closing:
            self.server_state.total_requests += 1
            return
        super().on_response_complete()
        if self._phase is Phase.answer and not self.pipeline:
            self._phase = Phase.idle
            self._connections.is_idle(self)

    # Deadlines and closing

    def overdue(self, now_s: float) -> str:
        """Say what has taken too long."""
        if self._phase is Phase.closing:
            if not self.transport.get_write_buffer_size():
                self._until_s = min(self._until_s, now_s + LINGER_S)
            if now_s > self._until_s:
                self.transport.abort()
            return ""
        if self.transport.is_closing():  # when all is written, if it ever is
            self._stalled_until_s = min(self._stalled_until_s, now_s + STALL_S)
        if self._phase is Phase.body and self.flow.read_paused:
            self._until_s += now_s - self._looked_s  # it is we who do not read
        self._looked_s = now_s
        if now_s > self._stalled_until_s:
            return "answer not read"
        if now_s <= self._until_s:
            return ""
        return "no whole body" if self._phase is Phase.body else "no whole head"

    def end(self) -> None:
        """Answer 408 where the client can read it, then close."""
        if self._phase is Phase.body or (self._phase is Phase.head and self._wire_bytes):
            self._refuse(408, "the request did not come in time")
        else:
            self.transport.abort()

    def drop(self) -> None:
        """Close it now."""
        self.transport.abort()

    def _refuse(self, status: int, text: str) -> None:
        """Answer without the application, and close."""
        if self._would_answer_another_request():
            self.transport.abort()  # this would be read as the answer to another request
            return
        self.transport.write(problem_bytes(status, text))
        self._close_after_reading()

    def _would_answer_another_request(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            return False
        return bool(self.pipeline) or self._phase is not Phase.body or cycle.response_started

    def _close_after_reading(self) -> None:
        """Close once the client has read the answer, or after LINGER_S."""
        self._phase = Phase.closing
        unread_s = self.transport.get_write_buffer_size() / LEAST_BYTES_S
        self._until_s = self.loop.time() + unread_s + LINGER_S
        self._wire_bytes = 0
        self._unset_keepalive_if_required()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()


class ResponseTransport:
    """The transport that a response is written to. Closing it closes gently, without a reset."""

    def __init__(self, transport: asyncio.Transport, leave: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = leave


def problem_bytes(status: int, text: str) -> bytes:
    """The bytes of a problem answer, the last one on its connection."""
    word, _meaning = REFUSALS[status]
    title = word.replace("-", " ").capitalize()
    content = msgspec.json.encode(Problem(f"urn:postroad:problem:{word}", title, status, text))
    head = (
        f"HTTP/1.1 {status} {title}\r\ncontent-type: application/problem+json\r\n"
        f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + content
