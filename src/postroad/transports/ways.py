"""Ways to servers: vetted addresses, and a client that can reach that one address only."""

import asyncio
from typing import Final

from msgspec import Struct
from pyreqwest.client import Client
from pyreqwest.exceptions import PyreqwestError

from postroad.model.webhook import WebhookRules
from postroad.ports.clock import Clock
from postroad.transports.webhook.clients import build_client
from postroad.transports.webhook.guard import Guard
from postroad.transports.webhook.resolving import Resolve, SystemResolver
from postroad.transports.webhook.target import Target, read

AGAIN_S: Final = 60.0
SERVERS_MAX: Final = 256
FAULTS: Final = (PyreqwestError, TimeoutError)


class Way(Struct, frozen=True):
    """An open way to one server."""

    server: str
    client: Client
    address: str
    until_s: float


class Ways:
    """Kept for a minute each; the least lately made goes when there are too many."""

    def __init__(self, rules: WebhookRules, clock: Clock, resolve: Resolve | None = None) -> None:
        self._rules = rules
        self._clock = clock
        self._guard = Guard(rules, resolve or SystemResolver())
        self._ways: dict[str, Way] = {}
        self._targets: dict[str, Target] = {}
        """Reading an address takes as long as a third of a call."""
        self._bad: dict[str, str] = {}
        """Addresses that took no connection, by server: another is tried first."""
        self._making = asyncio.Lock()

    async def to(self, url: str) -> Way:
        """The way to an address: a BadUrl when it must not be called, Unresolved when nobody
        knows where it is."""
        target = self._targets.get(url)
        if target is None:
            target = read(url, self._rules)
            if len(self._targets) < SERVERS_MAX:
                self._targets[url] = target
        way = self._fresh(target)
        if way is None:
            async with self._making:
                way = self._fresh(target) or await self._make(target)
        return way

    def lost(self, way: Way) -> None:
        """No connection was made: perhaps it lives elsewhere now."""
        self._bad[way.server] = way.address
        self._ways.pop(way.server, None)

    async def close(self) -> None:
        """Close all connections."""
        ways, self._ways = list(self._ways.values()), {}
        for way in ways:
            await way.client.close()

    def _fresh(self, target: Target) -> Way | None:
        way = self._ways.get(target.server)
        return way if way is not None and self._clock.steady_s() < way.until_s else None

    async def _make(self, target: Target) -> Way:
        found = await self._guard.addresses(target)
        avoided = self._bad.pop(target.server, "")
        address = next((one for one in found if one != avoided), found[0])
        until_s = self._clock.steady_s() + AGAIN_S
        old = self._ways.pop(target.server, None)
        client = old.client if old is not None and old.address == address else None
        if client is None:  # built off the loop: it takes 4 to 7 ms
            connect_ms = self._rules.connect_timeout_ms
            client = await asyncio.to_thread(build_client, target, address, connect_ms)
        if len(self._ways) >= SERVERS_MAX:
            del self._ways[next(iter(self._ways))]
        way = self._ways[target.server] = Way(target.server, client, address, until_s)
        return way
