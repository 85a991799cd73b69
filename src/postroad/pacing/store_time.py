"""StoreTime: what a process knows of the store's clock, proven by answers alone."""

from typing import Final

DRIFT: Final = 500e-6
"""How much faster or slower than ours the store's clock may run."""
RESOLUTION_S: Final = 0.001


class StoreTime:
    """The store's time less our steady time lies between two bounds: an answer was given after its
    question had left and before it arrived. Wall clocks of this machine play no part."""

    def __init__(self) -> None:
        self._low_s = -float("inf")
        self._high_s = float("inf")
        self._at_s = 0.0

    @property
    def doubt_s(self) -> float:
        """How far the bounds are apart."""
        return self._high_s - self._low_s

    def learn(self, now_us: int, sent_s: float, arrived_s: float) -> bool:
        """Learn from an answer; False when it contradicts the bounds: the clock was changed, or
        another store answers."""
        now_s, worn_s = now_us / 1e6, max(0.0, arrived_s - self._at_s) * DRIFT
        low_s, high_s = now_s - RESOLUTION_S - arrived_s, now_s + RESOLUTION_S - sent_s
        self._low_s = max(self._low_s - worn_s, low_s)
        self._high_s = min(self._high_s + worn_s, high_s)
        self._at_s = arrived_s
        if self._low_s <= self._high_s:
            return True
        self._low_s, self._high_s = low_s, high_s
        return False

    def here_s(self, at_us: int) -> float:
        """The time on our steady clock when that time of the store has certainly come."""
        return at_us / 1e6 - self._low_s
