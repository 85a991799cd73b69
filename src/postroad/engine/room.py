"""How many sends may be in flight in this process, by retry level and by pool."""

from collections import Counter

from postroad.model.limits import Limits


class Room:
    """Retries may fill at most half of it, so that first attempts always find a place."""

    def __init__(self, limits: Limits, pools: dict[str, int]) -> None:
        self._limits = limits
        self._usual = {pool: most for pool, most in pools.items() if most}
        self._pool_max = dict(self._usual)
        self.short: set[str] = set()
        """Pools that may have less than usual: this process lacks something to send theirs with."""
        self._by_level: Counter[int] = Counter()
        self._by_pool: Counter[str] = Counter()
        self.taken = 0
        self._retries = 0

    @property
    def left(self) -> int:
        """So many more may start, if nothing else limits them."""
        return self._limits.room - self.taken

    def admits(self, level: int, pool: str) -> bool:
        """Whether one more may start."""
        if self.taken >= self._limits.room:
            return False
        if pool in self._pool_max and self._by_pool[pool] >= self._pool_max[pool]:
            return False
        if level == 0:
            return True
        half_free = self._retries < self._limits.room - self._limits.room // 2
        return half_free and self._by_level[level] < self._limits.level_workers

    def take(self, level: int, pool: str) -> None:
        """One starts."""
        self._count(level, pool, 1)

    def give(self, level: int, pool: str) -> None:
        """One has ended."""
        self._count(level, pool, -1)

    def shrink(self, pool: str) -> None:
        """One of a pool that is under way could not be sent: no more than its others may be."""
        self.short.add(pool)
        most = self._pool_max.get(pool, self._limits.room)
        self._pool_max[pool] = min(most, max(0, self._by_pool[pool] - 1))

    def grow(self, pool: str) -> None:
        """A little more of a pool that is short may be under way again."""
        most = self._pool_max[pool]
        most += most // 8 + 1
        if most < self._usual.get(pool, self._limits.room):
            self._pool_max[pool] = most
            return
        self.short.discard(pool)
        del self._pool_max[pool]
        if pool in self._usual:
            self._pool_max[pool] = self._usual[pool]

    def _count(self, level: int, pool: str, change: int) -> None:
        self.taken += change
        self._by_pool[pool] += change
        if level:
            self._retries += change
            self._by_level[level] += change
