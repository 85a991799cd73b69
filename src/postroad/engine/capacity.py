"""Capacity: how many sends may be in flight in this process, by tenant, retry level and pool."""

from collections import Counter
from typing import Final

from postroad.model.limits import Limits

OTHERS: Final = 4
"""One tenant may fill `in_flight_max`; a quarter more is left for others. Dead addresses hold a
place for the ten seconds of a connect: without it 6,000 of them, of one tenant, held up the next
message of another for 20 s (decision 019)."""

UNPROVEN: Final = 4
"""Beside other tenants, a quarter of the capacity is for one tenant's lanes that have not answered
(yet): their connects come by thousands, and most of them hang or are refused (decision 045)."""
COMPANY_MS: Final = 10_000
"""A tenant is alone when no other has started anything for so long."""


def share(in_flight_max: int, others: int) -> int:
    """How much one tenant may have beside what others have: all when it is alone, and the less the
    more others have, so that a newcomer always finds something free."""
    most = in_flight_max + max(1, in_flight_max // OTHERS)
    return in_flight_max * (most - others) // most


def uncontended(in_flight_max: int) -> int:
    """While fewer are taken by all together, no tenant can be above its share."""
    most = in_flight_max + max(1, in_flight_max // OTHERS)
    return in_flight_max * most // (in_flight_max + most)


class Capacity:
    """Counts sends in flight. Retries may fill at most half of a tenant's share, so that first
    attempts always find a place."""

    def __init__(self, limits: Limits, pools: dict[str, int]) -> None:
        self._limits = limits
        self._usual = {pool: most for pool, most in pools.items() if most}
        self._pool_max = dict(self._usual)
        self.reduced_pools: set[str] = set()
        """Pools that may have less than usual, since this process lacks file descriptors."""
        self._by_pool: Counter[str] = Counter()
        self._by_tenant: Counter[str] = Counter()
        self._retries: Counter[str] = Counter()
        self._by_level: Counter[tuple[str, int]] = Counter()
        self.taken = 0
        self._uncontended = uncontended(limits.in_flight_max)
        """Below this no share needs to be computed, which is most of the time."""
        self._unproven: Counter[str] = Counter()
        """Lanes in flight whose last try, if any, was not answered."""
        self._latest = ""
        self._latest_ms = 0
        self._company_ms = -COMPANY_MS
        """Who started something last and when, and when that was somebody else than before."""

    @property
    def in_company(self) -> bool:
        """Whether several tenants have started something lately."""
        return self._latest_ms - self._company_ms < COMPANY_MS

    def left(self, tenant: str) -> int:
        """How many more of a tenant may start, if nothing else limits them."""
        mine = self._by_tenant[tenant]
        return share(self._limits.in_flight_max, self.taken - mine) - mine

    def left_in(self, pool: str) -> int:
        """How many more of a pool may start, if nothing else limits them."""
        if pool not in self._pool_max:
            return self._limits.in_flight_max  # tenants together may have more than that
        return self._pool_max[pool] - self._by_pool[pool]

    def left_unproven(self, tenant: str) -> int:
        """How many more of its lanes that have not answered may be in flight."""
        if not self.in_company:
            return self._limits.in_flight_max
        return max(1, self._limits.in_flight_max // UNPROVEN) - self._unproven[tenant]

    def admits(self, level: int, pool: str, tenant: str) -> bool:
        """Whether one more may start."""
        if self.taken >= self._uncontended and self.left(tenant) <= 0:
            return False
        if pool in self._pool_max and self._by_pool[pool] >= self._pool_max[pool]:
            return False
        if level == 0:
            return True
        may_have = self._by_tenant[tenant] + self.left(tenant)
        half_free = self._retries[tenant] < may_have - may_have // 2
        return half_free and self._by_level[tenant, level] < self._limits.level_workers

    def take(self, level: int, pool: str, tenant: str) -> None:
        """Count a send that starts."""
        self._count(level, pool, tenant, 1)

    def note_start(self, tenant: str, now_ms: int) -> None:
        """A tenant starts something now: whether tenants are alone is known from this."""
        self._latest_ms = now_ms
        if tenant != self._latest:
            if self._latest:
                self._company_ms = now_ms
            self._latest = tenant

    def count_unproven(self, tenant: str, change: int) -> None:
        """A tenant has one more or less lane in flight that has not answered."""
        self._unproven[tenant] += change

    def give(self, level: int, pool: str, tenant: str) -> None:
        """One has ended."""
        self._count(level, pool, tenant, -1)

    def shrink(self, pool: str) -> None:
        """A send of a pool lacked a descriptor: no more than the others in flight may be."""
        self.reduced_pools.add(pool)
        most = self._pool_max.get(pool, self._limits.in_flight_max)
        self._pool_max[pool] = min(most, max(0, self._by_pool[pool] - 1))

    def grow(self, pool: str) -> None:
        """A little more of a reduced pool may be in flight again."""
        most = self._pool_max[pool]
        most += most // 8 + 1
        if most < self._usual.get(pool, self._limits.in_flight_max):
            self._pool_max[pool] = most
            return
        self.reduced_pools.discard(pool)
        del self._pool_max[pool]
        if pool in self._usual:
            self._pool_max[pool] = self._usual[pool]

    def _count(self, level: int, pool: str, tenant: str, change: int) -> None:
        self.taken += change
        self._by_pool[pool] += change
        self._by_tenant[tenant] += change
        if level:
            self._retries[tenant] += change
            self._by_level[tenant, level] += change
