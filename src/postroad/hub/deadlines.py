"""Deadlines of connections. One timer serves all of them."""

from collections.abc import Callable
from typing import Protocol

CountWrongTokens = Callable[[int], bool]
"""Counts wrong tokens; True when their connection is to be closed for it."""


class HasDeadline(Protocol):
    """A connection that must send or read something in time."""

    def deadline_passed(self) -> None:
        """The deadline has passed."""


class ConnectionDeadlines(Protocol):
    """Keeps the deadlines of connections, and closes those that miss theirs."""

    def set_deadline(self, protocol: HasDeadline, seconds: float | None) -> None:
        """Set the connection's deadline to so many seconds from now; None removes it."""
