"""Deadlines of connections: one timer for all of them."""

from collections.abc import Callable
from typing import Protocol

CountWrongTokens = Callable[[int], bool]
"""So many wrong tokens were shown; True when the connection is to be closed for it."""


class HasDeadline(Protocol):
    """A connection of which something is awaited."""

    def deadline_passed(self) -> None:
        """It did not come in time."""


class ConnectionDeadlines(Protocol):
    """Who closes connections that take too long."""

    def set_deadline(self, protocol: HasDeadline, seconds: float | None) -> None:
        """The next thing must have come by then; None: it has."""
