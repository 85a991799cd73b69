"""What answers at a road's window: the API over HTTP/1.1 on a local socket, a request for each
connection, read with the libraries of the core alone."""

import asyncio
import socket
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

import httptools
import msgspec

from postroad.api.app import Application
from postroad.api.context import Context
from postroad.api.in_process import ASGI
from postroad.app import Postroad
from postroad.model.phrases import PHRASES
from postroad.model.problem import Problem
from postroad.stores.window_socket import Peer

HEAD_BYTES_MAX: Final = 64 << 10
HEADERS_MAX: Final = 100
HEAD_S: Final = 10.0
"""A whole head has to come in this time."""
STALL_S: Final = 30.0
"""How long a process may send nothing of a body, or read nothing of an answer."""
LINGER_S: Final = 2.0
"""What still comes after the answer is thrown away for so long: closed at once, a connection is
reset, and the answer lost with it."""
PIECE_BYTES: Final = 64 << 10
HEAD_END: Final = b"\r\n\r\n"


def answering(road: Postroad) -> "WindowHttp":
    """What answers for a road that no server serves."""
    context = Context(road, road.settings, road.log)
    app = Application(context)

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        context.delivers = road.engine is not None
        await app(scope, receive, send)

    return WindowHttp(answer)


class BadWindowRequest(Exception):
    """A head that is refused; the text says why."""


class WindowHttp:
    """Answers requests over local connections."""

    def __init__(self, app: ASGI) -> None:
        self._app = app

    async def __call__(self, line: socket.socket, peer: Peer) -> None:
        """Answer one request, and close the connection."""
        reader, writer = await asyncio.open_unix_connection(sock=line, limit=HEAD_BYTES_MAX)
        try:
            with suppress(TimeoutError):
                await self._answer(reader, writer, peer)
                await _linger(reader, writer)
        finally:
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer
    ) -> None:
        try:
            async with asyncio.timeout(HEAD_S):
                data = await reader.readuntil(HEAD_END)
            exchange = WindowExchange(RequestHead(data), reader, writer)
            await self._app(exchange.scope(peer), exchange.receive, exchange.send)
        except asyncio.LimitOverrunError:
            writer.write(_refusal(f"the head has more than {HEAD_BYTES_MAX} bytes"))
        except BadWindowRequest as error:
            writer.write(_refusal(str(error)))


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if not writer.transport.is_closing():
        writer.write_eof()
    async with asyncio.timeout(LINGER_S):
        while await reader.read(PIECE_BYTES):
            pass


class RequestHead:
    """A request's head, which is whole, as llhttp reads it."""

    def __init__(self, data: bytes) -> None:
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self._parser = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise BadWindowRequest(f"this is no HTTP/1.1 request: {str(error)[:200]}") from None
        self.method = self._parser.get_method().decode("ascii")
        named = dict(self.headers)
        if not self.url.startswith(b"/") or len(self.headers) > HEADERS_MAX:
            raise BadWindowRequest(f"give a path from / on, and at most {HEADERS_MAX} headers")
        if b"transfer-encoding" in named:
            raise BadWindowRequest("give the body's Content-Length: no chunks are read here")
        self.body_bytes = int(named.get(b"content-length", b"0"))
        del self._parser  # they refer to each other

    def on_url(self, url: bytes) -> None:
        """Take a part of the target."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self.headers.append((name.lower(), value))


class WindowExchange:
    """One request and its answer, as an application over ASGI sees them. A body is read when it is
    asked for, and an answer goes on when the peer has read it: neither is kept."""

    def __init__(
        self, head: RequestHead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._head = head
        self._reader, self._writer = reader, writer
        self._left = head.body_bytes
        self._asked = False
        self._chunked = False
        self._lost = False

    def scope(self, peer: Peer) -> dict[str, Any]:
        """The request in the words of ASGI. No network can bring a `peer`."""
        path, _, query = self._head.url.partition(b"?")
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self._head.method,
            "scheme": "http",
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "root_path": "",
            "query_string": query,
            "headers": self._head.headers,
            "client": None,
            "server": None,
            "peer": peer,
        }

    async def receive(self) -> dict[str, Any]:
        """The next piece of the body; after its end, that the peer is gone."""
        if self._asked and not self._left:
            with suppress(ConnectionError):
                _ = await self._reader.read(1)  # nothing is asked after it: only the end can come
            return {"type": "http.disconnect"}
        self._asked = True
        piece = await self._piece() if self._left else b""
        if self._left and not piece:
            return {"type": "http.disconnect"}
        self._left -= len(piece)
        return {"type": "http.request", "body": piece, "more_body": self._left > 0}

    async def _piece(self) -> bytes:
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(STALL_S):
                return await self._reader.read(min(PIECE_BYTES, self._left))
        return b""

    async def send(self, event: dict[str, Any]) -> None:
        """Write a part of the answer; nothing, once the peer is gone."""
        if self._lost:
            return
        if event["type"] == "http.response.start":
            self._begin(event["status"], event["headers"])
        elif self._chunked:
            self._chunk(event.get("body", b""), more=event.get("more_body", False))
        else:
            self._writer.write(event.get("body", b""))
        try:
            async with asyncio.timeout(STALL_S):
                await self._writer.drain()
        except (TimeoutError, ConnectionError):
            self._lost = True
            self._writer.transport.abort()

    def _begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        names = {name for name, _ in headers}
        lines = [f"HTTP/1.1 {status} {PHRASES[status]}".encode()]
        lines += [name + b": " + value for name, value in headers]
        self._chunked = b"content-length" not in names and status != HTTPStatus.NO_CONTENT
        if self._chunked:
            lines.append(b"transfer-encoding: chunked")
        self._writer.write(b"\r\n".join([*lines, b"connection: close", b"", b""]))

    def _chunk(self, data: bytes, *, more: bool) -> None:
        if data:
            self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        if not more:
            self._writer.write(b"0\r\n\r\n")


def _refusal(text: str) -> bytes:
    """An answer to what is no request."""
    told = Problem("urn:postroad:problem:bad-request", "Bad request", 400, text)
    content = msgspec.json.encode(told)
    head = (
        f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n"
        f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + content
