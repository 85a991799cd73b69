"""A clock that stands still until a test moves it."""

import asyncio
from collections.abc import Callable
from typing import Final

from postroad.ports.clock import Timer

START_MS: Final = 1_767_225_600_000  # 2026-01-01


class ManualClock:
    """Time is what the test says."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def steady_s(self) -> float:
        return (self._now_ms - START_MS) / 1000

    def advance(self, seconds: float) -> None:
        self._now_ms += round(seconds * 1000)

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def later(self, delay_ms: int, call: Callable[[], None]) -> Timer:
        """Calls at once, in a moved time: stores set no timers, so nothing depends on it."""
        self.advance(delay_ms / 1000)
        return asyncio.get_running_loop().call_soon(call)
