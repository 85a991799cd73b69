"""HTTP calls of campaigns: addresses are vetted, and connections reach only the vetted address."""

import asyncio
from typing import Final

from msgspec import Struct

from postroad.model.webhook import WebhookRules
from postroad.ports.clock import Clock
from postroad.transports.webhook.connections import ConnectionPool, HttpAnswer, IdleConnections
from postroad.transports.webhook.egress import Egress
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.reading import ANSWER_BYTES_MAX
from postroad.transports.webhook.resolving import Resolve, SystemResolver
from postroad.transports.webhook.target import Target, read

AGAIN_S: Final = 60.0
SERVERS_MAX: Final = 256
TIMEOUT_S: Final = 15.0


class VettedServer(Struct, frozen=True):
    """A vetted address of one server, and the connections to it."""

    connections: ConnectionPool
    address: str
    until_s: float


class VettedHttp:
    """Calls servers at vetted addresses. Each is vetted again after a minute; the oldest is dropped
    when there are too many."""

    def __init__(
        self,
        rules: WebhookRules,
        clock: Clock,
        idle: IdleConnections,
        resolve: Resolve | None = None,
        tenant: str = "",
    ) -> None:
        self._tenant = tenant
        self._rules = rules
        self._clock = clock
        self._idle = idle
        self._egress = Egress(rules, resolve or SystemResolver())
        self._servers: dict[str, VettedServer] = {}
        self._targets: dict[str, Target] = {}
        """Reading an address takes as long as a third of a call."""
        self._bad: dict[str, str] = {}
        """Addresses that took no connection, by server: another is tried first."""
        self._making = asyncio.Lock()

    def target(self, url: str) -> Target:
        """Read a URL; raises BadUrl when it must not be called."""
        target = self._targets.get(url)
        if target is None:
            target = read(url, self._rules)
            if len(self._targets) < SERVERS_MAX:
                self._targets[url] = target
        return target

    async def to(self, target: Target) -> VettedServer:
        """Vet a target. Raises BadUrl when it must not be called, Unresolved when it has no
        address."""
        server = self._fresh(target)
        if server is None:
            async with self._making:
                server = self._fresh(target) or await self._make(target)
        return server

    async def call(
        self, target: Target, request: bytes, most: int = ANSWER_BYTES_MAX
    ) -> HttpAnswer:
        """Send one request and read up to `most` bytes of the answer. Raises Fault when there is
        none."""
        server = await self.to(target)
        until_s = asyncio.get_running_loop().time() + TIMEOUT_S
        try:
            return await server.connections.call(request, self._connect_s, until_s, most)
        except Fault as fault:
            if not fault.sent:
                self._avoid(target, server)
            raise

    async def prepare(self, target: Target) -> None:
        """Have a connection ready. Raises as `call` does."""
        server = await self.to(target)
        try:
            await server.connections.prepare(self._connect_s)
        except Fault:
            self._avoid(target, server)
            raise

    @property
    def _connect_s(self) -> float:
        return min(self._rules.connect_timeout_ms / 1000, TIMEOUT_S)

    def _avoid(self, target: Target, server: VettedServer) -> None:
        """Note that a server takes no connection at its address: perhaps it has another one now."""
        self._bad[target.server] = server.address
        self._lose(target.server)

    async def close(self) -> None:
        """Close all connections."""
        for server in list(self._servers):
            self._lose(server)

    def _lose(self, name: str) -> None:
        server = self._servers.pop(name, None)
        if server is not None:
            server.connections.close()

    def _fresh(self, target: Target) -> VettedServer | None:
        server = self._servers.get(target.server)
        return server if server is not None and self._clock.steady_s() < server.until_s else None

    async def _make(self, target: Target) -> VettedServer:
        found = await self._egress.addresses(target, self._tenant)
        avoided = self._bad.pop(target.server, "")
        address = next((one for one in found if one != avoided), found[0])
        until_s = self._clock.steady_s() + AGAIN_S
        old = self._servers.get(target.server)
        if old is not None and old.address == address:
            connections = old.connections
            del self._servers[target.server]
        else:
            self._lose(target.server)
            proxy = self._egress.proxy(self._tenant)
            connections = ConnectionPool(target, address, self._idle, proxy=proxy)
        if len(self._servers) >= SERVERS_MAX:
            self._lose(next(iter(self._servers)))
        server = self._servers[target.server] = VettedServer(connections, address, until_s)
        return server
