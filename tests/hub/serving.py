"""A real hub on a real store and a real port, in this process."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from postroad.hub.access import hub_tokens
from postroad.hub.client import HubClient
from postroad.hub.frames import Created
from postroad.hub.pump import Hub
from postroad.hub.server import HubServer
from postroad.model.mailbox import HubLimits
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.ports.mailboxes import Mailboxes
from postroad.stores.sqlite.store import SqliteStore

CREATE, SEND = "let me make mailboxes here", "let me send to any mailbox"


class Served(Struct):
    hub: Hub
    server: HubServer
    port: int

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    def client(self) -> HubClient:
        return HubClient(self.url)

    def secure_client(self, host: str, tls: ssl.SSLContext) -> HubClient:
        async def here() -> list[str]:
            return ["127.0.0.1"]

        return HubClient(f"wss://{host}:{self.port}/", reach=here, tls=tls)


@asynccontextmanager
async def serving(
    path: Path,
    limits: HubLimits | None = None,
    store: Mailboxes | None = None,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    **named: tuple[str, ...],
) -> AsyncIterator[Served]:
    clock = SystemClock()
    own = None if store is not None else SqliteStore(path, clock)
    if own is not None:
        await own.open()
    hub = Hub(store or own, clock, make_log("warning"), limits)  # type: ignore[arg-type]
    await hub.open()
    server = HubServer(hub, hub_tokens(CREATE, SEND), **named)
    try:
        yield Served(hub, server, await server.start(port=port, tls=tls))
    finally:
        await server.stop()
        await hub.close()
        if own is not None:
            await own.close()


async def some_boxes(client: HubClient, count: int, quota: int = 0) -> list[Created]:
    return [await client.create(CREATE, quota=quota) for _ in range(count)]
