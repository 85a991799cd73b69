"""How many sends may be in flight in this process, by retry level and by pool."""

from collections import Counter

from postroad.model.limits import Limits


class Room:
    """Retries may fill at most half of it, so that first attempts always find a place."""

    def __init__(self, limits: Limits, pools: dict[str, int]) -> None:
        self._limits = limits
        self._most = limits.room
        self._pool_max = {pool: most for pool, most in pools.items() if most}
        self._by_level: Counter[int] = Counter()
        self._by_pool: Counter[str] = Counter()
        self.taken = 0
        self._retries = 0

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

    def _count(self, level: int, pool: str, change: int) -> None:
        """Only what has a limit is counted."""
        self.taken += change
        if level:
            self._retries += change
            self._by_level[level] += change
        if pool in self._pool_max:
            self._by_pool[pool] += change
