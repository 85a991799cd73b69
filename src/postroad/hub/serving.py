"""A hub from its start to its end: it leads the store and listens until it is stopped."""

import ssl
from socket import gaierror
from typing import Final

from msgspec import Struct

from postroad.hub.access import HubTokens
from postroad.hub.pump import Hub
from postroad.hub.server import HubServer
from postroad.model.errors import BadSetting, CannotListen
from postroad.model.hubs import server_name
from postroad.model.mailbox import HubLimits
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.mailboxes import Mailboxes

LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what it was asked to listen on


class ListenOptions(Struct, frozen=True):
    """Where a hub listens, and who may do what. `any_port`: it takes another port when this one is
    in use. `tls`: its certificate; None is without TLS."""

    host: str = "127.0.0.1"
    port: int = 0
    keys: HubTokens = HubTokens()
    limits: HubLimits = HubLimits()
    any_port: bool = False
    tls: ssl.SSLContext | None = None
    origins: tuple[str, ...] = ()
    """Sites whose pages may use it by plain HTTP."""
    proxies: tuple[str, ...] = ()
    """Whose `X-Forwarded-For` is believed."""


class HubService:
    """A hub that listens."""

    def __init__(self, store: Mailboxes, clock: Clock, log: Log, where: ListenOptions) -> None:
        self.hub = Hub(store, clock, log, where.limits)
        self._server = HubServer(self.hub, where.keys, where.origins, where.proxies)
        self._where = where
        self.port = 0

    @property
    def url(self) -> str:
        """The URL that clients connect to."""
        scheme = "ws" if self._where.tls is None else "wss"
        return f"{scheme}://{server_name(self._where.host, self.port)}"

    @property
    def address(self) -> str:
        """The IP address at which this machine reaches it."""
        return LOOPBACK.get(self._server.address, self._server.address)

    @property
    def servers(self) -> list[str]:
        """Host and port, in every form that clients on this machine may write."""
        hosts = dict.fromkeys((self._where.host, self._server.address, self.address))
        return [server_name(host, self.port) for host in hosts]

    async def start(self) -> None:
        """Become the store's hub, and listen. Raises HubInUse while another one is alive."""
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
        """Return when another hub has taken the store."""
        await self.hub.ended()

    async def stop(self) -> None:
        """Tell clients to connect again later, and finish the gathered work."""
        await self._server.stop()
        await self.hub.close()
