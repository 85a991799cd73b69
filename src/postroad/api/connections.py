"""Limits on connections to the API: how many, how many of one address, and how slow."""

import asyncio
import math
import resource
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from postroad.model.networks import network
from postroad.ports.log import Log

PART: Final = 4
MOST: Final = 4_096
"""Connections have so large a part of the process's file descriptors, and no more than this: at
1,024 that is 512 sends in flight, 256 idle ones of webhooks, and 256 here."""
CHECKED: Final = 50
"""How many connections are looked at in one turn of the loop: closing one takes some 20 µs."""
SWEEP_S: Final = 1.0
SPELL_S: Final = 60.0
"""Ended connections are logged once at once, and then once a minute."""


class ConnectionLimits(Struct, frozen=True):
    """How long a head (or a TLS handshake) and a body may take, and how many connections one
    address may have."""

    head_s: float = 10.0
    body_s: float = 30.0
    per_address: int = 256


class LimitedConnection(Protocol):
    """What the limits need of a connection."""

    address: str

    def overdue(self, now_s: float) -> str:
        """Say what has taken too long by now; nothing when all is well."""

    def end(self) -> None:
        """Tell the client, and close soon."""

    def drop(self) -> None:
        """Close it now."""


class ApiConnections:
    """All connections of one server, under one timer. When there are too many, the one that was
    idle for longest goes first, so that slow ones keep nobody out."""

    def __init__(
        self,
        limits: ConnectionLimits,
        log: Log,
        is_trusted: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.limits = limits
        self.most = descriptors_for_us()
        self._each = max(1, min(limits.per_address, self.most * 3 // 4))
        self._log = log
        self._is_trusted = is_trusted
        self._open: dict[LimitedConnection, str] = {}
        self._by_source: Counter[str] = Counter()
        self._idle: dict[LimitedConnection, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._ended: Counter[str] = Counter()
        self._told_s = -math.inf

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: LimitedConnection) -> bool:
        """Accept a new connection, dropping an idle one when there is no capacity; False when all
        the others are busy."""
        source = network(connection.address)
        if self._by_source[source] >= self._each and not self._is_trusted(connection.address):
            idle = next((one for one in self._idle if self._open[one] == source), None)
            if not self._drop_idle(idle, "too many connections of one address", connection.address):
                return False
        elif len(self._open) >= self.most:
            idle = next(iter(self._idle), None)
            if not self._drop_idle(idle, "too many connections", connection.address):
                return False
        self._open[connection] = source
        self._by_source[source] += 1
        self._idle[connection] = None
        if self._timer is None:
            self._set_timer()
        return True

    def _drop_idle(self, idle: LimitedConnection | None, why: str, address: str) -> bool:
        self.note(why, address)
        if idle is None:
            return False
        self.forget(idle)
        idle.drop()
        return True

    def forget(self, connection: LimitedConnection) -> None:
        """Remove a connection that is closed."""
        source = self._open.pop(connection, None)
        if source is None:
            return
        self._idle.pop(connection, None)
        self._by_source[source] -= 1
        if not self._by_source[source]:
            del self._by_source[source]

    def is_busy(self, connection: LimitedConnection) -> None:
        """Mark a connection whose request has arrived up to its body."""
        self._idle.pop(connection, None)

    def is_idle(self, connection: LimitedConnection) -> None:
        """Mark a connection whose request is answered and that has sent no other."""
        if connection in self._open:
            self._idle[connection] = None

    def note(self, why: str, address: str) -> None:
        """Count a connection that was ended or refused, and log the counts once a minute."""
        self._ended[why] += 1
        now_s = asyncio.get_running_loop().time()
        if now_s - self._told_s >= SPELL_S:
            self._told_s = now_s
            self._tell(address)

    def _tell(self, address: str) -> None:
        why = ", ".join(f"{count} × {why}" for why, count in self._ended.items())
        self._log.warning(
            "connections to the API were ended", why=why, last=address, open=len(self._open)
        )
        self._ended.clear()

    def _set_timer(self) -> None:
        every_s = min(SWEEP_S, self.limits.head_s / 4, self.limits.body_s / 4)
        self._timer = asyncio.get_running_loop().call_later(every_s, self._sweep)

    def _sweep(self) -> None:
        self._check([*self._open])

    def _check(self, connections: Sequence[LimitedConnection]) -> None:
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        for connection in connections[:CHECKED]:
            if connection in self._open and (why := connection.overdue(now_s)):
                self.note(why, connection.address)
                connection.end()
        if len(connections) > CHECKED:
            self._timer = loop.call_later(0, self._check, connections[CHECKED:])
            return
        if self._ended and now_s - self._told_s >= SPELL_S:
            self._told_s = now_s
            self._tell("")
        self._timer = None
        if self._open or self._ended:
            self._set_timer()


def descriptors_for_us() -> int:
    """The number of connections that the file descriptors of this process allow."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST
    return max(16, min(MOST, soft // PART))
