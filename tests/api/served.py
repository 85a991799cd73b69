"""The stand with its server on a real port, and clients that write bytes."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import structs

from postroad.api.connections import ConnectionLimits
from postroad.api.serving import CONNECTION_LIMITS, ApiServer
from postroad.config import Settings, address
from tests.api.stand import Stand

WAIT_S = 60.0


class Served(Stand):
    """`async with Served(folder, origins=(…)):`; `line()` connects."""

    def __init__(
        self,
        folder: Path,
        dsn: str = "",
        limits: ConnectionLimits = CONNECTION_LIMITS,
        **settings: Any,
    ) -> None:
        self._limits = limits
        given = structs.replace(Settings(), listen="127.0.0.1:0", **settings)
        super().__init__(folder, given, dsn)
        self._lines: list[Line] = []

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.server = ApiServer(self.road, self.settings, delivers=False, limits=self._limits)
        self.context = self.server.context
        self.server.bind()
        listens = asyncio.Event()
        self._task = asyncio.ensure_future(self.server.run(listens.set))
        await asyncio.wait(
            [self._task, asyncio.ensure_future(listens.wait())], return_when="FIRST_COMPLETED"
        )
        self.host, self.port = address(self.server.url.partition("://")[2])
        return self

    async def __aexit__(self, *_: object) -> None:
        for line in self._lines:
            line.close()
            with suppress(ConnectionError):
                await line.writer.wait_closed()
        self.server.stop()
        try:
            async with asyncio.timeout(WAIT_S):
                await self._task
        finally:
            self.server.close()
            await super().__aexit__()

    async def line(self) -> "Line":
        """A new connection."""
        made = Line(*await asyncio.open_connection(self.host, self.port, limit=1 << 26))
        self._lines.append(made)
        return made

    def head(self, method: str, path: str, *lines: str, token: str | None = None) -> bytes:
        """The head of a request."""
        shown = self.token if token is None else token
        access = [f"Authorization: Bearer {shown}"] if shown else []
        words = [f"{method} {path} HTTP/1.1", "Host: localhost", *access, *lines]
        return "\r\n".join(words).encode() + b"\r\n\r\n"

    async def works(self) -> bool:
        """Whether a new client is answered."""
        async with asyncio.timeout(WAIT_S):
            line = await self.line()
            line.send(self.head("GET", "/healthz"))
            status, _ = await line.answer()
            line.close()
        return status == 200


class Line:
    """A client's connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        """Write what is given, as it is."""
        self.writer.write(data)

    async def answer(self) -> tuple[int, Any]:
        """Status and body of one answer."""
        async with asyncio.timeout(WAIT_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"content-length: (\d+)", head)
            content = await self.reader.readexactly(int(length[1])) if length else b""
            if not length and "chunked" in head:
                while size := int(await self.reader.readline(), 16):
                    content += await self.reader.readexactly(size)
                    await self.reader.readline()
                await self.reader.readline()
        return int(head.split()[1]), msgspec.json.decode(content) if content else None

    async def ended(self) -> bytes:
        """What still came before the server closed."""
        async with asyncio.timeout(WAIT_S):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    def is_open(self) -> bool:
        """Whether the server has not closed it, as far as we have heard."""
        return not self.reader.at_eof() and self.reader.exception() is None

    def close(self) -> None:
        """Go."""
        self.writer.close()
