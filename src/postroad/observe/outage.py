"""When a store goes away and comes back: a line at once, one a minute, and one at its end."""

from collections import deque
from collections.abc import Callable
from typing import Final

from postroad.ports.clock import Clock

TELL_EVERY_S: Final = 60.0
OUTAGES_MAX: Final = 5
"""How many outages are logged within that time: a store may come and go every second."""
QUIET_S: Final = 60.0
"""After this long without a failure the next one is another outage: what is done only now and then
does not tell that it works again."""
SETTLE_S: Final = 5.0
"""How long after its end some parts may still fail, with connections from before."""

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
        self._since_s = self._failed_s = self._told_s = 0.0
        self._ended_s = -SETTLE_S
        self._told = False
        self._began_s: deque[float] = deque(maxlen=OUTAGES_MAX)

    def failed(self, doing: str, error: Exception) -> None:
        """Note that something could not be done because the store is away."""
        now_s = self._clock.steady_s()
        if not self._failing or now_s - self._failed_s > QUIET_S:
            self._failing.clear()
            self._since_s, self._failures, self._told = now_s, 0, False
        self._failing.add(doing)
        self._failures += 1
        self._failed_s = now_s
        if self._told:
            if now_s - self._told_s >= TELL_EVERY_S:
                away_s = round(now_s - self._since_s)
                self._tell(
                    "the store is still away", doing, error, away_s=away_s, failures=self._failures
                )
        elif now_s - self._ended_s < SETTLE_S:
            return
        elif len(self._began_s) < OUTAGES_MAX or now_s - self._began_s[0] >= TELL_EVERY_S:
            self._began_s.append(now_s)
            self._tell("the store is away", doing, error)

    def works(self, doing: str) -> None:
        """Note that something could be done. If it had failed, the outage is over."""
        if doing not in self._failing:
            return
        self._failing.clear()
        self._ended_s = self._clock.steady_s()
        if self._told:
            away_s = round(self._clock.steady_s() - self._since_s, 1)
            self._info("the store is back", away_s=away_s, failures=self._failures)

    def _tell(self, event: str, doing: str, error: Exception, **facts: object) -> None:
        self._told, self._told_s = True, self._clock.steady_s()
        self._warning(event, could_not=doing, error=str(error), **facts)
