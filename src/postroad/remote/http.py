"""HTTP/1.1 to one address: one request at a time on a connection, kept while it is used."""

import asyncio
import os
import ssl
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from httptools import HttpParserError, HttpResponseParser

from postroad.model.errors import NotPostroad
from postroad.remote.addresses import RoadAddress
from postroad.remote.api_request import ApiRequest
from postroad.transports.webhook.faults import Fault

PIECE_BYTES: Final = 64 << 10
ANSWER_BYTES_MAX: Final = 256 << 20
IDLE_S: Final = 4.0
"""A server closes an idle connection after 5 s."""
HEAD_END: Final = b"\r\n\r\n"


class ApiConnection:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.idle_s = 0.0


class HttpReply:
    """An answer whose head has come; its body comes piece by piece."""

    def __init__(self, connection: ApiConnection, timeout_s: float) -> None:
        self.headers: dict[str, str] = {}
        self.reusable = False
        self._connection = connection
        self._timeout_s = timeout_s
        self._parser = HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._whole = False

    async def begin(self) -> None:
        """Read the head."""
        async with asyncio.timeout(self._timeout_s):
            self._feed(await self._connection.reader.readuntil(HEAD_END))

    @property
    def status(self) -> int:
        """The status of the answer."""
        return int(self._parser.get_status_code())

    async def pieces(self) -> AsyncIterator[bytes]:
        """Read the body."""
        while True:
            found, self._pieces = self._pieces, []
            for piece in found:
                yield piece
            if self._whole:
                self.reusable = self._parser.should_keep_alive()
                return
            async with asyncio.timeout(self._timeout_s):
                data = await self._connection.reader.read(PIECE_BYTES)
            if not data:
                if self.headers.keys() & {"content-length", "transfer-encoding"}:
                    raise ConnectionResetError("the answer was cut off")
                return  # its end is that of the connection
            self._feed(data)

    async def content(self) -> bytes:
        """Read the whole body."""
        found, size = list[bytes](), 0
        async for piece in self.pieces():
            found.append(piece)
            size += len(piece)
            if size > ANSWER_BYTES_MAX:
                raise NotPostroad(f"the answer has more than {ANSWER_BYTES_MAX} bytes")
        return b"".join(found)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            raise NotPostroad(f"what answers there does not speak HTTP/1.1: {error}") from None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        """The answer is whole."""
        self._whole = True


class HttpLines:
    """The connections to one address."""

    def __init__(self, address: RoadAddress) -> None:
        self._address = address
        self._idle: deque[ApiConnection] = deque()

    @asynccontextmanager
    async def asking(
        self,
        asked: ApiRequest,
        timeout_s: float,
        body: "AsyncIterable[bytes] | None" = None,
        *,
        fresh: bool,
    ) -> AsyncIterator[HttpReply]:
        """Make a request; its reply is read inside the block. Fault, when there is none. `body`
        comes after the content; `fresh`: on a new connection, which no server has just closed."""
        connection = (None if fresh else self._take()) or await self._connect()
        reply = HttpReply(connection, timeout_s)
        try:
            connection.writer.write(self._written(asked))
            if body is not None:
                await self._upload(connection, body)
            await reply.begin()
            yield reply
        except TimeoutError:
            raise Fault("timeout", f"no answer in {timeout_s:g} s", sent=True) from None
        except asyncio.LimitOverrunError:
            raise NotPostroad("what answers there does not speak HTTP/1.1") from None
        except (OSError, asyncio.IncompleteReadError) as error:
            told = str(error) if isinstance(error, OSError) else "it closed the connection"
            raise Fault("closed", told, sent=True) from None
        finally:
            self._leave(connection, reusable=reply.reusable)

    def _written(self, asked: ApiRequest) -> bytes:
        query = f"?{asked.query_text}" if asked.query_text else ""
        headers = {"content-length": str(len(asked.content)), **asked.headers}
        lines = [f"{asked.method} {self._address.base}{asked.path}{query} HTTP/1.1"]
        lines += [f"host: {self._address.host}", *(f"{k}: {v}" for k, v in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + asked.content

    async def _connect(self) -> ApiConnection:
        try:
            return ApiConnection(*await self._address.dial())
        except TimeoutError:
            raise Fault("connect_timeout", "it takes no connection", sent=False) from None
        except ssl.SSLCertVerificationError as error:
            told = f"{error.verify_message}; name the certificate to trust in POSTROAD_CA_FILE"
            raise Fault("tls", told, sent=False) from None
        except OSError as error:
            known = isinstance(error, ConnectionError) and error.errno
            told = os.strerror(error.errno or 0) if known else error.strerror or str(error)
            raise Fault("refused", told, sent=False) from None

    def _take(self) -> ApiConnection | None:
        now_s = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if now_s - connection.idle_s < IDLE_S and not connection.reader.at_eof():
                return connection
            connection.writer.close()
        return None

    def _leave(self, connection: ApiConnection, *, reusable: bool) -> None:
        if not reusable:
            connection.writer.close()
            return
        connection.idle_s = asyncio.get_running_loop().time()
        self._idle.append(connection)
        while connection.idle_s - self._idle[0].idle_s >= IDLE_S:
            self._idle.popleft().writer.close()

    def close(self) -> None:
        """Close them."""
        while self._idle:
            self._idle.pop().writer.close()

    async def _upload(self, connection: ApiConnection, body: AsyncIterable[bytes]) -> None:
        async for piece in body:
            connection.writer.write(piece)
            await connection.writer.drain()
