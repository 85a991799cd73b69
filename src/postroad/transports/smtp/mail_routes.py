"""The ways that mail takes to its servers: through a relay, or straight to the servers of each
domain. Addresses are vetted, and connected to as numbers."""

import asyncio
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadUrl
from postroad.model.relay import MailRelay, Tls
from postroad.ports.clock import Chance
from postroad.transports.smtp.mta_sts import Mode, StsPolicies, StsPolicy
from postroad.transports.smtp.opening import Server
from postroad.transports.smtp.resolver import DnsResolver
from postroad.transports.smtp.routes import route
from postroad.transports.webhook.guard import Guard
from postroad.transports.webhook.resolving import Unresolved

ADDRESSES_MAX: Final = 4
"""Maximum addresses of one server that are tried."""
AGAIN_S: Final = 60.0
KNOWN_MAX: Final = 1_000


class MailHost(Struct, frozen=True):
    """A server's name, as the guard takes it."""

    host: str

    @property
    def literal(self) -> IPv4Address | IPv6Address | None:
        """The address that the name is."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None


class MailWorld(Struct, frozen=True):
    """What is asked about other people's servers."""

    guard: Guard
    resolver: DnsResolver
    policies: StsPolicies
    chance: Chance
    port: int = 25


class RelayRoute:
    """All mail goes to one server."""

    def __init__(self, relay: MailRelay, guard: Guard, tenant: str) -> None:
        self._relay = relay
        self._guard = guard
        self._tenant = tenant
        self._known: list[Server] = []
        self._until_s = 0.0

    async def servers(self, _domain: str) -> list[Server]:
        """Return the relay at its addresses. Raises Unresolved and BadUrl."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._until_s:
            found = await self._guard.addresses(MailHost(self._relay.host), self._tenant)
            self._known = [self._server(address) for address in found[:ADDRESSES_MAX]]
            self._until_s = loop.time() + AGAIN_S
        return self._known

    def _server(self, address: str) -> Server:
        relay = self._relay
        usual = Tls.opportunistic if ip_address(address).is_loopback else Tls.required
        return Server(
            relay.host,
            address,
            relay.port,
            relay.wrapped,
            relay.options.tls or usual,
            relay.user,
            relay.password,
            relay.options.hello,
        )


class DirectRoute:
    """Mail goes to the servers that its domain names."""

    def __init__(self, relay: MailRelay, world: MailWorld, tenant: str) -> None:
        self._relay = relay
        self._world = world
        self._tenant = tenant
        self._known: dict[str, tuple[list[Server], float]] = {}

    async def servers(self, domain: str) -> list[Server]:
        """Return the servers of a domain at their addresses. Raises NoMail, Unresolved and
        BadUrl."""
        now_s = asyncio.get_running_loop().time()
        known, until_s = self._known.get(domain, ([], 0.0))
        if now_s >= until_s:
            known = await self._find(domain)
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[domain] = (known, now_s + AGAIN_S)
        return known

    async def _find(self, domain: str) -> list[Server]:
        """One server that must not be called is left out while there are others."""
        world = self._world
        found = await route(domain, world.resolver, world.chance)
        policy = await world.policies.of(domain)
        servers: list[Server] = []
        last: Exception = Unresolved(f"no server of {domain} has an address")
        for host in found.hosts:
            if policy.mode is Mode.enforce and not policy.names(host):
                last = BadUrl(f"{host} is not in the MTA-STS policy of {domain}")
                continue
            try:
                servers += await self._at(host, policy)
            except (BadUrl, Unresolved) as error:
                last = error
        if not servers:
            raise last
        return servers

    async def _at(self, host: str, policy: StsPolicy) -> list[Server]:
        addresses = await self._world.guard.addresses(MailHost(host), self._tenant)
        tls = self._relay.options.tls or Tls.opportunistic
        if policy.mode is Mode.enforce:
            tls = Tls.required
        hello = self._relay.options.hello
        return [
            Server(host, address, self._world.port, wrapped=False, tls=tls, hello=hello)
            for address in addresses[:ADDRESSES_MAX]
        ]
