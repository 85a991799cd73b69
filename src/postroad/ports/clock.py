"""Time and random numbers. All code that waits or draws gets them from here."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None:
        """Cancel the call."""


class Clock(Protocol):
    """Wall time in milliseconds, sleeps, and scheduled calls."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970."""

    def steady_s(self) -> float:
        """Return seconds that never go back, for leases and durations."""

    async def sleep(self, seconds: float) -> None:
        """Wait so many seconds."""

    def later(self, delay_ms: int, call: Callable[[], None]) -> Timer:
        """Call once after the delay."""


class SystemClock:
    """Real time. `speed` makes an hour pass in a minute (60), for demonstrations."""

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self._wall_start_s = time.time()
        self._steady_start_s = time.monotonic()
        self.steady_s: Callable[[], float] = time.monotonic if speed == 1.0 else self._hastened_s
        """Seconds that never go back. Asked several times a message: no call around the call."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970."""
        if self._speed == 1.0:
            return time.time_ns() // 1_000_000
        return int((self._wall_start_s + self.steady_s()) * 1000)

    def _hastened_s(self) -> float:
        return (time.monotonic() - self._steady_start_s) * self._speed

    async def sleep(self, seconds: float) -> None:
        """Wait so many seconds."""
        await asyncio.sleep(seconds / self._speed)

    def later(self, delay_ms: int, call: Callable[[], None]) -> Timer:
        """Call once after the delay."""
        return asyncio.get_running_loop().call_later(delay_ms / 1000 / self._speed, call)


class LoopClock:
    """The time of the running event loop: real, or simulated."""

    def __init__(self, start_ms: int = 1_767_225_600_000) -> None:
        self._start_ms = start_ms

    def now_ms(self) -> int:
        """Return milliseconds since 1970."""
        return self._start_ms + round(self.steady_s() * 1000)

    def steady_s(self) -> float:
        """Return seconds that never go back."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait so many seconds."""
        await asyncio.sleep(seconds)

    def later(self, delay_ms: int, call: Callable[[], None]) -> Timer:
        """Call once after the delay."""
        return asyncio.get_running_loop().call_later(delay_ms / 1000, call)


class Chance(Protocol):
    """Draws random numbers from [0, 1)."""

    def random(self) -> float:
        """Return the next draw."""


def system_chance() -> Chance:
    """Return draws that differ from run to run. (The system's own source costs 12 µs per draw.)"""
    return random.Random()  # noqa: S311 - jitter, not a secret
