"""Bounds what waits for an end or a message in one process: each holds a connection."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from postroad.model.errors import Overloaded

WAITS_MAX: Final = 2_000


class Waits:
    """Counts those who wait, by tenant: one may have half, so that others find room."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._counts = Counter[str]()

    @property
    def count(self) -> int:
        """How many wait."""
        return self._counts.total()

    @contextmanager
    def one(self, tenant: str) -> Iterator[None]:
        """One that waits; Overloaded when there are too many."""
        if self._counts[tenant] >= WAITS_MAX // 2 or self._counts.total() >= WAITS_MAX:
            raise Overloaded(f"too many {self._what} wait already: let one of them end first")
        self._counts[tenant] += 1
        try:
            yield
        finally:
            self._counts[tenant] -= 1
            if not self._counts[tenant]:
                del self._counts[tenant]
