"""Deadlines of connections: one timer for all of them."""

from collections.abc import Callable
from typing import Protocol

Wrong = Callable[[int], bool]
"""So many wrong tokens were shown; True when the connection is to be closed for it."""


class Expected(Protocol):
    """A connection of which something is awaited."""

    def late(self) -> None:
        """Close it: what was awaited did not come in time."""


class Patience(Protocol):
    """Closes connections that take too long."""

    def expect(self, protocol: Expected, seconds: float | None) -> None:
        """Close the connection unless more comes within so many seconds; None lifts that."""
