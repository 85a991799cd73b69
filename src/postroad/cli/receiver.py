"""A local receiver of webhooks: it verifies signatures, reports requests and fails as asked."""

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.errors import CannotListen
from postroad.model.webhook import HeaderNames
from postroad.ports.clock import Chance, Clock
from postroad.transports.webhook.signing import fault_in

HEAD_BYTES_MAX: Final = 64 << 10
BODY_BYTES_MAX: Final = 16 << 20
NO_LINGER: Final = struct.pack("ii", 1, 0)
"""SO_LINGER of zero seconds: closing is a reset."""


class ReceiverOptions(Struct, frozen=True):
    """How the receiver answers. `fail` is the share of requests that get `status`, not 200."""

    secrets: tuple[str, ...] = ()
    status: int = 200
    fail: float = 0.0
    slow_s: float = 0.0
    retry_after: str = ""
    reset: bool = False


class ReceivedRequest(Struct, frozen=True):
    """One request, and what it was answered."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    signature: str
    """"verified", "not checked", or what is wrong with it."""
    status: int
    """What it was answered; 0 is a reset."""


class Receiver:
    """Receives requests on one port."""

    def __init__(
        self,
        options: ReceiverOptions,
        clock: Clock,
        chance: Chance,
        tell: Callable[[ReceivedRequest], None],
    ) -> None:
        self._options = options
        self._clock = clock
        self._chance = chance
        self._tell = tell
        self._trusting = asyncio.Event()
        self._trusting.set()

    def expect_secret(self) -> None:
        """Hold what comes until `trust`: a road may send before it has told its secret."""
        self._trusting.clear()

    def trust(self, secret: str) -> None:
        """Verify signatures with this secret too."""
        self._options = replace(self._options, secrets=(*self._options.secrets, secret))
        self._trusting.set()

    async def start(self, host: str, port: int) -> "tuple[asyncio.Server, int]":
        """Start listening; returns the server and its port."""
        try:
            server = await asyncio.start_server(self._serve, host, port, limit=HEAD_BYTES_MAX)
        except OSError as error:
            raise CannotListen(
                f"cannot listen on {host}:{port}: {error.strerror}; give another port"
            ) from None
        return server, int(server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # a caller may go away, or speak something else
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = [line.partition(":") for line in lines]
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await _body(reader, headers)
        _ = await self._trusting.wait()  # it is always true
        await self._clock.sleep(self._options.slow_s)
        status = self._status()
        self._tell(
            ReceivedRequest(method, path, headers, body, self._checked(headers, body), status)
        )
        if status == 0:
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            writer.transport.abort()
            return False
        extra = f"retry-after: {self._options.retry_after}\r\n" if self._waits(status) else ""
        said = f"HTTP/1.1 {status} .\r\n{extra}content-length: 0\r\n\r\n"
        writer.write(said.encode())
        await writer.drain()
        return headers.get("connection", "").lower() != "close"

    def _status(self) -> int:
        options = self._options
        bad = 0 if options.reset else options.status
        if options.fail and self._chance.random() >= options.fail:
            return 200
        return bad if options.reset or options.status != 200 or not options.fail else 500

    def _waits(self, status: int) -> bool:
        return bool(self._options.retry_after) and status >= 400

    def _checked(self, headers: dict[str, str], body: bytes) -> str:
        if not self._options.secrets:
            return "not checked"
        names = HeaderNames()
        signed = [headers.get(name, "") for name in (names.id, names.timestamp, names.signature)]
        now_s = self._clock.now_ms() / 1000
        return _fault(self._options.secrets, signed, body, now_s) or "verified"


def _fault(secrets: Sequence[str], signed: Sequence[str], body: bytes, now_s: float) -> str:
    number, timestamp, signature = signed
    return fault_in(secrets, number, timestamp, signature, body, now_s)


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = bytearray()
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
            if len(body) > BODY_BYTES_MAX:
                raise ValueError("the body is too large")
        await reader.readexactly(2)
        return bytes(body)
    size = int(headers.get("content-length", "0"))
    if not 0 <= size <= BODY_BYTES_MAX:
        raise ValueError("the body is too large")
    return await reader.readexactly(size)
