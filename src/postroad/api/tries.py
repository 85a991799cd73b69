"""Bounds how often a stranger may try something."""

from collections import OrderedDict
from typing import Final

from postroad.model.errors import TooManyTries
from postroad.ports.clock import Clock

TRIES_MAX: Final = 10
TRIES_S: Final = 60.0
KNOWN_MAX: Final = 10_000


class Tries:
    """Counts how often something was tried in the last minute, of the last ten thousand."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._recent: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def count(self, what: str) -> None:
        """Count a try; TooManyTries when there were too many."""
        now_s = self._clock.steady_s()
        since_s, seen = self._recent.pop(what, (now_s, 0))
        if now_s - since_s >= TRIES_S:
            since_s, seen = now_s, 0
        self._recent[what] = (since_s, seen + 1)
        while len(self._recent) > KNOWN_MAX:
            self._recent.popitem(last=False)
        if seen >= TRIES_MAX:
            raise TooManyTries("too many tries: wait a minute")

    def forgive(self, what: str) -> None:
        """Take back the count of a try that was right."""
        since_s, seen = self._recent.get(what, (0.0, 0))
        if seen:
            self._recent[what] = (since_s, seen - 1)
