"""Checks rate limits as a provider sees them: no window holds more starts than allowed."""

from bisect import bisect_left
from collections import defaultdict

from msgspec import Struct

from postroad.model.pace import Limit
from postroad.model.states import NEVER


class Held(Struct):
    """A limit, and the time that it applied."""

    limit: Limit
    from_ms: int
    until_ms: int = NEVER


class Rates:
    """The starts of each queue and lane, and the limits that applied."""

    def __init__(self) -> None:
        self._starts_ms: dict[str, list[int]] = defaultdict(list)
        self._limits: dict[str, Held] = {}

    def limited(self, name: str, limit: Limit, now_ms: int) -> None:
        """A queue or lane is limited from now on."""
        self._limits[name] = Held(limit, now_ms)

    def lifted(self, name: str, now_ms: int) -> None:
        """The limit ends, or another one applies, which is not checked."""
        if name in self._limits:
            self._limits[name].until_ms = min(now_ms, self._limits[name].until_ms)

    def started(self, names: tuple[str, ...], now_ms: int) -> None:
        """A try starts that counts for these queues and lanes."""
        for name in names:
            self._starts_ms[name].append(now_ms)

    def exceeded(self) -> list[str]:
        """Each limit that was exceeded."""
        return [line for name, held in self._limits.items() for line in self._check(name, held)]

    def _check(self, name: str, held: Held) -> list[str]:
        starts = [s for s in self._starts_ms[name] if held.from_ms <= s < held.until_ms]
        lines: list[str] = []
        for window in held.limit.windows:
            ends = (bisect_left(starts, start + window.length_us // 1000) for start in starts)
            most = max((end - n for n, end in enumerate(ends)), default=0) * held.limit.cost
            if most > window.most:
                lines.append(f"{name}: {most} in a window of {held.limit.text}")
        return lines
