"""BusyLanes: which tenants have so many busy lanes that no more of theirs are claimed."""

from collections.abc import Callable, Iterable
from typing import Final

from postroad.engine.capacity import share, uncontended

LEAST: Final = 8
"""Every tenant may have so many busy lanes, whatever others have."""
GAP_S: Final = 0.1
"""While a tenant is at its limit, claims that would skip it are made this far apart: each of its
new lanes rings, and most such tenants are below their limit again in a moment."""


class BusyLanes:
    """Counts lanes with something to do, by tenant."""

    def __init__(self, in_flight_max: int, claim_again: Callable[[int], None]) -> None:
        self._in_flight_max = in_flight_max
        self._busy: dict[str, int] = {}
        self._all = 0
        self._uncontended = uncontended(in_flight_max)
        self._skipped: set[str] = set()
        self._levels: set[int] = set()
        """Tenants whose lanes were skipped by claims of these levels."""
        self._claim_again = claim_again
        """Called with a level when lanes of it that were skipped may be claimed."""

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

    def tenants_at_limit(self) -> list[str]:
        """Tenants that have as many busy lanes as they may."""
        if self._all < self._uncontended:
            return []
        most = self._in_flight_max
        # A claim may bring a tenant above the limit: no more than that is counted.
        counted = sum(min(busy, most) for busy in self._busy.values())
        return [
            tenant
            for tenant, busy in self._busy.items()
            if busy >= max(LEAST, share(most, counted - min(busy, most)))
        ]

    def skipped(self, tenants: Iterable[str], levels: Iterable[int]) -> None:
        """A claim of these levels did not ask for lanes of these tenants. Their busy ones may have
        ended before its answer came: then there is no other end to wait for."""
        self._skipped.update(tenants)
        self._levels.update(levels)
        self._ask_again()

    def _ask_again(self) -> None:
        if self._skipped and not self._skipped.issubset(self.tenants_at_limit()):
            levels, self._levels = self._levels, set()
            self._skipped.clear()
            for level in levels:
                self._claim_again(level)
