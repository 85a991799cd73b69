"""Bounds the requests of one process that wait for an end: each holds a connection."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from postroad.model.errors import Overloaded

WAITS_MAX: Final = 1_000


class Waits:
    """Counts requests that wait."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """A request that waits; Overloaded when there are too many."""
        if self.count >= WAITS_MAX:
            raise Overloaded("too many requests wait for results already: ask again later")
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1
