"""When a store goes away and comes back: a line at once, one a minute, and one at its end."""

from collections.abc import Callable
from typing import Final

from postroad.ports.clock import Clock

TELL_EVERY_S: Final = 60.0

Tell = Callable[..., None]


class Outage:
    """Every part of a process fails while its store is away, and tries again every second: that is
    written at debug level, and the outage itself in a few lines."""

    def __init__(self, clock: Clock, warning: Tell, info: Tell) -> None:
        self._clock = clock
        self._warning = warning
        self._info = info
        self._failing: set[str] = set()
        self._failures = 0
        self._since_s = 0.0
        self._told_s = -TELL_EVERY_S
        self._told = False

    def failed(self, doing: str, error: Exception) -> None:
        """Something could not be done for want of the store."""
        now_s = self._clock.steady_s()
        if not self._failing:
            self._since_s, self._failures, self._told = now_s, 0, False
        self._failing.add(doing)
        self._failures += 1
        if now_s - self._told_s < TELL_EVERY_S:
            return
        still = {"away_s": round(now_s - self._since_s), "failures": self._failures}
        event = "the store is still away" if self._told else "the store is away"
        self._warning(event, could_not=doing, error=str(error), **(still if self._told else {}))
        self._told_s, self._told = now_s, True

    def works(self, doing: str) -> None:
        """Something could be done. If it had failed, the outage is over."""
        if doing not in self._failing:
            return
        self._failing.clear()
        if self._told:
            away_s = round(self._clock.steady_s() - self._since_s, 1)
            self._info("the store is back", away_s=away_s, failures=self._failures)
