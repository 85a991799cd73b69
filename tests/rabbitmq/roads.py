"""Roads on a broker, and a webhook endpoint that answers as it is told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from postroad import Postroad
from postroad.config import Settings
from postroad.model.ids import to_number
from postroad.model.webhook import WebhookRules

LOCAL = WebhookRules(allow=("127.0.0.0/8", "::1/128"), http=True, ports=())
SOON_S = 0.02


def a_road(dsn: str, folder: Path, more: str = "") -> Postroad:
    """A road on the broker, with a state file in the folder."""
    state = f"sqlite:///{folder / 'state.db'}"
    return Postroad(f"{dsn}?state={state}{more}", settings=Settings(webhooks=LOCAL))


@asynccontextmanager
async def running(road: Postroad) -> AsyncIterator[None]:
    """The road delivers meanwhile."""
    task = asyncio.create_task(road.run())
    try:
        yield
    finally:
        road.stop()
        await task


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition; the test itself is bounded."""
    while not await true():
        await asyncio.sleep(SOON_S)


async def until_state(road: Postroad, number: str, *states: str) -> str:
    """Wait until a message is in one of these states."""
    while True:
        facts = await road.store.message_facts("default", to_number(number))
        if facts is not None:
            state = str((await road.explain(number)).state)
            if state in states:
                return state
        await asyncio.sleep(SOON_S)


class Endpoint:
    """An HTTP server; `statuses` are its next answers, then 200."""

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self.statuses: list[int] = []
        self.got = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_ended: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/hook"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = next(
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                )
                await reader.readexactly(size)
                self.got += 1
                status = self.statuses.pop(0) if self.statuses else 200
                writer.write(b"HTTP/1.1 %d X\r\ncontent-length: 0\r\n\r\n" % status)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
