"""Limits on the hub's connections: how many, how many of one network, and wrong tokens."""

import resource
from collections import Counter, OrderedDict
from typing import Final

from postroad.model.mailbox import HubLimits
from postroad.ports.clock import Clock
from postroad.ports.log import Log

KEPT_BACK: Final = 640
"""File descriptors that are not for the hub's clients: 512 for sends in flight, the rest for the
store and the API. With few in all, three of four are kept back."""
MINUTE_S: Final = 60.0
NETWORKS_MAX: Final = 10_000
"""Networks whose wrong tokens are remembered."""


def room() -> int:
    """Connections that the process's file descriptors have room for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 1 << 20
    return max(soft // 4, soft - KEPT_BACK)


class Visitors:
    """Counts connections and wrong tokens by network. What is refused is told in one line a minute,
    however many there are."""

    def __init__(self, limits: HubLimits, clock: Clock, log: Log) -> None:
        self._limits = limits
        self._clock = clock
        self._log = log
        self.inside: Counter[str] = Counter()
        self.total = 0
        self._most = limits.connections_max or room()
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """Since when, and how many."""
        self._told_s: dict[str, float] = {}
        self._refused: Counter[str] = Counter()

    def enter(self, name: str) -> int:
        """One more connection of this network: 0, or the HTTP status that it is refused with. It
        counts until it leaves, also when it is refused."""
        self.inside[name] += 1
        self.total += 1
        if self.total > self._most:
            self._tell("the hub is full", name, most=self._most)
            return 503
        if self.inside[name] > self._limits.address_connections_max:
            self._tell("too many hub connections from one address", name)
            return 429
        return 429 if self.guesses(name) else 0

    def leave(self, name: str) -> None:
        """A connection has ended."""
        self.total -= 1
        self.inside[name] -= 1
        if not self.inside[name]:
            del self.inside[name]

    def wrong(self, name: str, count: int) -> bool:
        """Count wrong tokens; True when there are too many of this network."""
        now_s = self._clock.steady_s()
        since_s, before = self._wrong.pop(name, (now_s, 0))
        if now_s - since_s >= MINUTE_S:
            since_s, before = now_s, 0
        self._wrong[name] = (since_s, before + count)
        while len(self._wrong) > NETWORKS_MAX:
            self._wrong.popitem(last=False)
        return self.guesses(name)

    def guesses(self, name: str) -> bool:
        """Whether this network has shown too many wrong tokens within a minute."""
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
