"""Crowd: of which tenants this process has so many busy lanes that it claims no more of theirs."""

from collections.abc import Callable, Iterable
from typing import Final

from postroad.engine.capacity import plenty, share

LEAST: Final = 8
"""So many busy lanes every tenant may have, whatever others have."""
GAP_S: Final = 0.1
"""So long after a claim of everybody's lanes, or of others' that found none, the next one waits
while somebody is to be left out: each lane that is added to a crowd rings, and most crowds are
gone in a moment."""


class BusyLanes:
    """Lanes with something to do, by tenant."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._busy: dict[str, int] = {}
        self._all = 0
        self._plenty = plenty(room)
        self._left_out: set[str] = set()
        self._levels: set[int] = set()
        """Tenants whose lanes were left out by claims of these levels."""
        self.again: Callable[[int], None] = lambda _level: None
        """Called with a level when lanes of it that were left out may be claimed."""

    def change(self, tenant: str, change: int) -> None:
        """A tenant has one busy lane more or less."""
        self._all += change
        busy = self._busy.get(tenant, 0) + change
        if busy:
            self._busy[tenant] = busy
        else:
            del self._busy[tenant]
        if change < 0:
            self._ask_again()

    def full(self) -> list[str]:
        """Tenants that have as many busy lanes as they may."""
        if self._all < self._plenty:
            return []
        room = self._room
        # Of no tenant more than the room counts: a claim may bring one more than that.
        counted = sum(min(busy, room) for busy in self._busy.values())
        return [
            tenant
            for tenant, busy in self._busy.items()
            if busy >= max(LEAST, share(room, counted - min(busy, room)))
        ]

    def left_out(self, tenants: Iterable[str], levels: Iterable[int]) -> None:
        """A claim of these levels did not ask for lanes of these tenants. Their busy ones may have
        ended before its answer came: then there is no other end to wait for."""
        self._left_out.update(tenants)
        self._levels.update(levels)
        self._ask_again()

    def _ask_again(self) -> None:
        if self._left_out and not self._left_out.issubset(self.full()):
            levels, self._levels = self._levels, set()
            self._left_out.clear()
            for level in levels:
                self.again(level)
