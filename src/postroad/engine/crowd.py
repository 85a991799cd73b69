"""Crowd: of which tenants this process has so many busy lanes that it claims no more of theirs."""

from collections.abc import Callable, Iterable
from typing import Final

from postroad.engine.room import share

LEAST: Final = 8
"""So many busy lanes every tenant may have, whatever others have."""
GAP_S: Final = 0.1
"""So long after a claim of everybody's lanes, or of others' that found none, the next one waits
while somebody is to be left out: each lane that is added to a crowd rings, and most crowds are
gone in a moment."""


class Crowd:
    """Lanes with something to do, by tenant."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._busy: dict[str, int] = {}
        self._counted = 0
        """All busy lanes, of no tenant more than the room: a claim may bring one more than that."""
        self._left_out: set[str] = set()
        self._levels: set[int] = set()
        """Tenants whose lanes were left out by claims of these levels."""
        self.again: Callable[[int], None] = lambda _level: None
        """Called with a level when lanes of it that were left out may be claimed."""

    def change(self, tenant: str, change: int) -> None:
        """A tenant has one busy lane more or less."""
        old = self._busy.get(tenant, 0)
        new = old + change
        if new:
            self._busy[tenant] = new
        else:
            self._busy.pop(tenant, None)
        self._counted += min(new, self._room) - min(old, self._room)
        if change < 0 and self._left_out and not all(map(self._is_full, self._left_out)):
            levels, self._levels = self._levels, set()
            self._left_out.clear()
            for level in levels:
                self.again(level)

    def full(self) -> list[str]:
        """Tenants that have as many busy lanes as they may."""
        return [tenant for tenant in self._busy if self._is_full(tenant)]

    def _is_full(self, tenant: str) -> bool:
        mine = self._busy.get(tenant, 0)
        others = self._counted - min(mine, self._room)
        return mine >= max(LEAST, share(self._room, others))

    def left_out(self, tenants: Iterable[str], levels: Iterable[int]) -> None:
        """A claim of these levels did not ask for lanes of these tenants."""
        self._left_out.update(tenants)
        self._levels.update(levels)
