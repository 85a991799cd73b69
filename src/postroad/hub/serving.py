"""A hub from its start to its end: lead the store, listen, until it is told to stop."""

import asyncio
from collections.abc import Callable

from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from postroad.hub.access import Keys
from postroad.hub.pump import Hub
from postroad.hub.server import Server
from postroad.model.mailbox import HubLimits
from postroad.ports.clock import Clock
from postroad.ports.mailboxes import Mailboxes


class Where(Struct, frozen=True):
    """Where a hub listens, and who may do what."""

    host: str = "127.0.0.1"
    port: int = 7070
    keys: Keys = Keys()
    limits: HubLimits = HubLimits()


async def serve(
    store: Mailboxes,
    clock: Clock,
    log: FilteringBoundLogger,
    where: Where,
    listening: Callable[[Hub, int], None],
    stop: asyncio.Event,
) -> None:
    """Serve until `stop` is set, or another hub takes the store. `listening` gets the port."""
    hub = Hub(store, clock, log, where.limits)
    await hub.open()
    server = Server(hub, where.keys)
    ends = [asyncio.ensure_future(each) for each in (hub.ended(), stop.wait())]
    try:
        listening(hub, await server.start(where.host, where.port))
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()
        await server.stop()
        await hub.close()
