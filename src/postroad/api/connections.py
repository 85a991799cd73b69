"""Who is connected to the API: how many, how many of one address, and who takes too long."""

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
"""So many are looked at in one turn of the loop: to hang up on one takes some 20 µs."""
SWEEP_S: Final = 1.0
SPELL_S: Final = 60.0
"""Connections that are ended are told in one line at once, and then in one a minute."""


class Patience(Struct, frozen=True):
    """How long is waited for a head (or a TLS handshake) and for a body, and how many connections
    one address may have."""

    head_s: float = 10.0
    body_s: float = 30.0
    per_address: int = 256


class Line(Protocol):
    """One connection, as it is looked after here."""

    address: str

    def overdue(self, now_s: float) -> str:
        """What has taken too long by now, in a few words; nothing when all is well."""

    def end(self) -> None:
        """Say so to the client, and close soon."""

    def drop(self) -> None:
        """Close it now."""


class Connections:
    """All connections of one server, under one timer. When there are too many, the one that was
    silent for longest goes first, so that slow ones keep nobody out."""

    def __init__(
        self, patience: Patience, log: Log, spared: Callable[[str], bool] = lambda _: False
    ) -> None:
        self.patience = patience
        self.most = descriptors_for_us()
        self._each = max(1, min(patience.per_address, self.most * 3 // 4))
        self._log = log
        self._spared = spared
        self._open: dict[Line, str] = {}
        self._by_source: Counter[str] = Counter()
        self._silent: dict[Line, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._ended: Counter[str] = Counter()
        self._told_s = -math.inf

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, line: Line) -> bool:
        """Take in a new one, at the cost of a silent one when there is no room; False when all
        the others are busy."""
        source = network(line.address)
        if self._by_source[source] >= self._each and not self._spared(line.address):
            silent = next((one for one in self._silent if self._open[one] == source), None)
            if not self._make_room(silent, "too many connections of one address", line.address):
                return False
        elif len(self._open) >= self.most:
            silent = next(iter(self._silent), None)
            if not self._make_room(silent, "too many connections", line.address):
                return False
        self._open[line] = source
        self._by_source[source] += 1
        self._silent[line] = None
        if self._timer is None:
            self._set_timer()
        return True

    def _make_room(self, silent: Line | None, why: str, address: str) -> bool:
        self.note(why, address)
        if silent is None:
            return False
        self.forget(silent)
        silent.drop()
        return True

    def forget(self, line: Line) -> None:
        """It is gone."""
        source = self._open.pop(line, None)
        if source is None:
            return
        self._silent.pop(line, None)
        self._by_source[source] -= 1
        if not self._by_source[source]:
            del self._by_source[source]

    def speaks(self, line: Line) -> None:
        """A request has come whole, up to its body."""
        self._silent.pop(line, None)

    def is_silent(self, line: Line) -> None:
        """Its request is answered, and there is no other yet."""
        if line in self._open:
            self._silent[line] = None

    def note(self, why: str, address: str) -> None:
        """A connection was ended, or not taken. One line a spell, not one each."""
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
        every_s = min(SWEEP_S, self.patience.head_s / 4, self.patience.body_s / 4)
        self._timer = asyncio.get_running_loop().call_later(every_s, self._sweep)

    def _sweep(self) -> None:
        self._check([*self._open])

    def _check(self, lines: Sequence[Line]) -> None:
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        for line in lines[:CHECKED]:
            if line in self._open and (why := line.overdue(now_s)):
                self.note(why, line.address)
                line.end()
        if len(lines) > CHECKED:
            self._timer = loop.call_later(0, self._check, lines[CHECKED:])
            return
        if self._ended and now_s - self._told_s >= SPELL_S:
            self._told_s = now_s
            self._tell("")
        self._timer = None
        if self._open or self._ended:
            self._set_timer()


def descriptors_for_us() -> int:
    """How many connections there may be."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST
    return max(16, min(MOST, soft // PART))
