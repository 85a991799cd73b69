"""How many sends may be in flight in this process, by retry level and by pool."""

from collections import Counter

from postroad.model.limits import Limits


class Room:
    """Retries may fill at most half of it, so that first attempts always find a place."""

    def __init__(self, limits: Limits, pools: dict[str, int]) -> None:
        self._limits = limits
        self._most = limits.room
        """Less while this process lacks something to send with."""
        self._pool_max = {pool: most for pool, most in pools.items() if most}
        self._by_level: Counter[int] = Counter()
        self._by_pool: Counter[str] = Counter()
        self.taken = 0
        self._retries = 0

    @property
    def left(self) -> int:
        """So many more may start, if nothing else limits them."""
        return self._most - self.taken

    def admits(self, level: int, pool: str) -> bool:
        """Whether one more may start."""
        if self.taken >= self._most:
            return False
        if pool in self._pool_max and self._by_pool[pool] >= self._pool_max[pool]:
            return False
        if level == 0:
            return True
        half_free = self._retries < self._most - self._most // 2
        return half_free and self._by_level[level] < self._limits.level_workers

    def take(self, level: int, pool: str) -> None:
        """One starts."""
        self._count(level, pool, 1)

    def give(self, level: int, pool: str) -> None:
        """One has ended."""
        self._count(level, pool, -1)

    def shrink(self) -> bool:
        """One of those that are under way could not be sent: no more than the others may be.
        Whether that is new."""
        whole = self._most == self._limits.room
        self._most = min(self._most, max(0, self.taken - 1))
        return whole

    def grow(self) -> bool:
        """A little more may be under way again; whether it is less than usual still."""
        self._most = min(self._limits.room, self._most + self._most // 8 + 1)
        return self._most < self._limits.room

    def _count(self, level: int, pool: str, change: int) -> None:
        """Only what has a limit is counted."""
        self.taken += change
        if level:
            self._retries += change
            self._by_level[level] += change
        if pool in self._pool_max:
            self._by_pool[pool] += change
