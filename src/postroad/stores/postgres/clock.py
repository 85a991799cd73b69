"""The database's clock as this process knows it."""

from typing import Final

from postroad.ports.clock import Clock

KEEP_S: Final = 60.0
"""After this the best answer since counts: the clocks drift, and the other may be set back."""


class DatabaseClock:
    """Never ahead of the database: what is due here is due there. Every answer that carries the
    database's time says that it is at least that late; the best of them counts."""

    def __init__(self, base: Clock) -> None:
        self.steady_s = base.steady_s
        self.sleep = base.sleep
        self.later = base.later
        self._offset_ms = base.now_ms() - base.steady_s() * 1000
        self._best_ms = -float("inf")
        self._since_s = base.steady_s() - KEEP_S

    def heard(self, now_ms: int) -> None:
        """An answer says that it was this late when it was given."""
        steady_s = self.steady_s()
        self._best_ms = max(self._best_ms, now_ms - steady_s * 1000)
        if self._best_ms >= self._offset_ms or steady_s - self._since_s >= KEEP_S:
            self._offset_ms = self._best_ms
            self._best_ms = -float("inf")
            self._since_s = steady_s

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return int(self.steady_s() * 1000 + self._offset_ms)
