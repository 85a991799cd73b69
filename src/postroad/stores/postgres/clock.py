"""The database's clock as this process knows it."""

from collections.abc import Callable
from typing import Final

from postroad.ports.clock import Clock, Timer

KEEP_S: Final = 60.0
"""An estimate is replaced by a worse one after this: the other clock may have been set back."""
STEP_MS: Final = 1_000
"""A step back by less than this is noise, and time stands still instead."""


class DatabaseClock:
    """Never ahead of the database: what is due here is due there. Every answer that carries the
    database's time says that it is at least that late; the best of them counts."""

    def __init__(self, base: Clock) -> None:
        self._base = base
        self._offset_ms = base.now_ms() - base.steady_s() * 1000
        self._heard_s = -KEEP_S
        self._last_ms = 0

    def heard(self, now_ms: int) -> None:
        """An answer says that it was this late when it was given."""
        steady_s = self._base.steady_s()
        offset_ms = now_ms - steady_s * 1000
        if offset_ms >= self._offset_ms or steady_s - self._heard_s > KEEP_S:
            self._offset_ms = offset_ms
            self._heard_s = steady_s

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        now_ms = int(self._base.steady_s() * 1000 + self._offset_ms)
        if self._last_ms - STEP_MS < now_ms < self._last_ms:
            return self._last_ms
        self._last_ms = now_ms
        return now_ms

    def steady_s(self) -> float:
        """Seconds that never go back."""
        return self._base.steady_s()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._base.sleep(seconds)

    def later(self, delay_ms: int, call: Callable[[], None]) -> Timer:
        """Call once after the delay."""
        return self._base.later(delay_ms, call)
