"""Limits on connections to the hub: how many in all, how many from one network, and who guesses
tokens."""

import resource
from collections import Counter, OrderedDict
from typing import Final

from postroad.model.mailbox import HubLimits
from postroad.model.networks import Proxies, network
from postroad.ports.clock import Clock
from postroad.ports.log import Log

KEPT_BACK: Final = 640
"""File descriptors that are not for the hub's clients: 512 for sends in flight, the rest for the
store and the API. With few in all, three of four are kept back."""
MINUTE_S: Final = 60.0
NETWORKS_MAX: Final = 10_000
"""Networks whose wrong tokens are remembered."""
PROXIES: Final = "proxies"
"""The network of all proxies that are believed: it has no limit of its own."""


def connections_possible() -> int:
    """How many connections the process's file descriptors allow."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 1 << 20
    return max(soft // 4, soft - KEPT_BACK)


class HubConnectionLimits:
    """Counts connections and wrong tokens by network. Refusals are logged once a minute, with their
    number."""

    def __init__(
        self, limits: HubLimits, clock: Clock, log: Log, proxies: Proxies | None = None
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._log = log
        self._proxies = proxies or Proxies()
        self.by_network: Counter[str] = Counter()
        self.total = 0
        self._most = limits.connections_max or connections_possible()
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """Since when, and how many."""
        self._told_s: dict[str, float] = {}
        self._refused: Counter[str] = Counter()

    def source(self, address: str) -> str:
        """Return the network that a connection from this address counts for."""
        return PROXIES if self._proxies.has(address) else network(address)

    def client(self, proxy: str, forwarded: str) -> str:
        """Return the network that a request through a proxy comes from."""
        return network(self._proxies.client(proxy, forwarded))

    def enter(self, name: str) -> int:
        """Count a connection from this network. Returns 0, or the HTTP status that refuses it. It
        counts until it leaves, also when it is refused."""
        self.by_network[name] += 1
        self.total += 1
        if self.total > self._most:
            self._tell("the hub is full", name, most=self._most)
            return 503
        if name != PROXIES and self.by_network[name] > self._limits.address_connections_max:
            self._tell("too many hub connections from one address", name)
            return 429
        return 429 if self.is_guessing(name) else 0

    def leave(self, name: str) -> None:
        """A connection from this network has ended."""
        self.total -= 1
        self.by_network[name] -= 1
        if not self.by_network[name]:
            del self.by_network[name]

    def wrong(self, name: str, count: int) -> bool:
        """Count wrong tokens; True when this network has sent too many."""
        now_s = self._clock.steady_s()
        since_s, before = self._wrong.pop(name, (now_s, 0))
        if now_s - since_s >= MINUTE_S:
            since_s, before = now_s, 0
        self._wrong[name] = (since_s, before + count)
        while len(self._wrong) > NETWORKS_MAX:
            self._wrong.popitem(last=False)
        return self.is_guessing(name)

    def is_guessing(self, name: str) -> bool:
        """Whether this network has sent too many wrong tokens within a minute."""
        since_s, count = self._wrong.get(name, (0.0, 0))
        if count <= self._limits.wrong_tokens_max:
            return False
        if self._clock.steady_s() - since_s >= MINUTE_S:
            return False
        self._tell("too many wrong hub tokens from one address", name)
        return True

    def _tell(self, what: str, name: str, **more: int) -> None:
        self._refused[what] += 1
        now_s = self._clock.steady_s()
        if now_s - self._told_s.get(what, -MINUTE_S) >= MINUTE_S:
            self._told_s[what] = now_s
            self._log.warning(what, address=name, refused=self._refused.pop(what), **more)
