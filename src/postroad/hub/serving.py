"""A hub from its start to its end: lead the store, listen, until it is told to stop."""

import ssl
from socket import gaierror
from typing import Final

from msgspec import Struct

from postroad.hub.access import Keys
from postroad.hub.pump import Hub
from postroad.hub.server import Server
from postroad.model.errors import BadSetting, CannotListen
from postroad.model.hubs import server_name
from postroad.model.mailbox import HubLimits
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.mailboxes import Mailboxes

LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what it is told to listen on


class Where(Struct, frozen=True):
    """Where a hub listens, and who may do what. `any_port`: another one when it is taken. `tls`:
    with its certificate; None is plain."""

    host: str = "127.0.0.1"
    port: int = 0
    keys: Keys = Keys()
    limits: HubLimits = HubLimits()
    any_port: bool = False
    tls: ssl.SSLContext | None = None


class Station:
    """A hub that listens."""

    def __init__(self, store: Mailboxes, clock: Clock, log: Log, where: Where) -> None:
        self.hub = Hub(store, clock, log, where.limits)
        self._server = Server(self.hub, where.keys)
        self._where = where
        self.port = 0

    @property
    def url(self) -> str:
        """Where clients connect."""
        scheme = "ws" if self._where.tls is None else "wss"
        return f"{scheme}://{server_name(self._where.host, self.port)}"

    @property
    def address(self) -> str:
        """Where it can be reached from this machine, as a number."""
        return LOOPBACK.get(self._server.address, self._server.address)

    @property
    def servers(self) -> list[str]:
        """Host and port, in every way that clients on this machine may write it."""
        hosts = dict.fromkeys((self._where.host, self._server.address, self.address))
        return [server_name(host, self.port) for host in hosts]

    async def start(self) -> None:
        """Become the hub of the store, and listen. Raises HubInUse when another one is alive."""
        await self.hub.open()
        where = self._where
        try:
            self.port = await self._server.start(where.host, where.port, where.tls)
        except OSError as error:
            if not where.any_port:
                await self.hub.close()
                raise (BadSetting if isinstance(error, gaierror) else CannotListen)(
                    f"the hub cannot listen on {where.host}:{where.port}: {error.strerror}; set "
                    "hub_listen to another HOST:PORT"
                ) from None
            self.port = await self._server.start(where.host, tls=where.tls)

    async def ended(self) -> None:
        """Wait until another hub has taken the store."""
        await self.hub.ended()

    async def stop(self) -> None:
        """Tell the clients, and finish what was handed over."""
        await self._server.stop()
        await self.hub.close()
