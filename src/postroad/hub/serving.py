"""A hub from its start to its end: lead the store, listen, until it is told to stop."""

from socket import gaierror

from msgspec import Struct

from postroad.hub.access import Keys
from postroad.hub.pump import Hub
from postroad.hub.server import Server
from postroad.model.errors import BadSetting, CannotListen
from postroad.model.mailbox import HubLimits
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.mailboxes import Mailboxes


class Where(Struct, frozen=True):
    """Where a hub listens, and who may do what. `any_port`: another one when it is taken."""

    host: str = "127.0.0.1"
    port: int = 0
    keys: Keys = Keys()
    limits: HubLimits = HubLimits()
    any_port: bool = False


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
        host = self._where.host
        return f"ws://[{host}]:{self.port}" if ":" in host else f"ws://{host}:{self.port}"

    async def start(self) -> None:
        """Be the store's hub, and listen. HubInUse when another one is alive."""
        await self.hub.open()
        where = self._where
        try:
            self.port = await self._server.start(where.host, where.port)
        except OSError as error:
            if not where.any_port:
                await self.hub.close()
                raise (BadSetting if isinstance(error, gaierror) else CannotListen)(
                    f"the hub cannot listen on {where.host}:{where.port}: {error.strerror}; set "
                    "hub_listen to another HOST:PORT"
                ) from None
            self.port = await self._server.start(where.host)

    async def ended(self) -> None:
        """Returns when another hub has taken the store."""
        await self.hub.ended()

    async def stop(self) -> None:
        """Tell those who are in, finish what was handed over."""
        await self._server.stop()
        await self.hub.close()
