"""A client of the bounce listener that says exactly what it is told, and a road that listens."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from postroad import Postroad
from postroad.bounces.listener import BounceListener
from postroad.config import Settings
from postroad.model.mail_settings import MailSettings

DOMAIN = "bounces.example.com"
PATIENCE_S = 60.0


class Client:
    """Speaks to the listener, line by line or worse."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def hear(self) -> str:
        """The next reply, all its lines; empty at the end."""
        async with asyncio.timeout(PATIENCE_S):
            lines = [await self._line()]
            while lines[-1][3:4] == "-":
                lines.append(await self._line())
        return "\n".join(lines)

    async def _line(self) -> str:
        try:
            return (await self.reader.readline()).decode().rstrip("\r\n")
        except ConnectionError:
            return ""

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def say(self, command: str) -> str:
        """One command, and its reply."""
        self.write(f"{command}\r\n".encode())
        return await self.hear()

    async def mail(self, to: str, raw: bytes, hello: str = "EHLO") -> str:
        """A whole mail; the last reply."""
        for command in (f"{hello} x.example", "MAIL FROM:<>", f"RCPT TO:<{to}>", "DATA"):
            reply = await self.say(command)
            if reply[0] not in "23":
                return reply
        self.write(raw.replace(b"\r\n.", b"\r\n..") + b"\r\n.\r\n")
        return await self.hear()


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Client]:
    """A client that has heard the greeting."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    client = Client(reader, writer)
    try:
        greeting = await client.hear()
        assert greeting == "" or greeting[:3] in ("220", "421"), greeting
        yield client
    finally:
        writer.close()


def listening_road(
    folder: Path, *, scheme: str = "smtp", port: int = 0, options: str = "", **mail: Any
) -> Postroad:
    """A road that listens for bounces when it runs."""
    given = {"bounce_domain": DOMAIN, "sender": "shop@example.com", **mail}
    settings = MailSettings(bounces=f"{scheme}://127.0.0.1:{port}{options}", **given)
    return Postroad(f"sqlite:///{folder}/road.db", settings=Settings(mail=settings))


@asynccontextmanager
async def running(road: Postroad) -> AsyncIterator[BounceListener]:
    """The road runs, and listens, meanwhile."""
    task = asyncio.ensure_future(road.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            while (listener := road.campaign_service.listener) is None or not listener.port:
                assert not task.done(), task.exception()
                await asyncio.sleep(0.01)
        yield listener
    finally:
        road.stop()
        await task
