"""A transport that answers at once, and queues of it by the thousand, each on a lane of its own."""

import asyncio
from collections.abc import Sequence

from postroad import Postroad
from postroad.config import Settings
from postroad.model.entities import DEFAULT_TENANT, LaneKey, Message, Policy, Queue, QueueSpec
from postroad.model.outcome import DELIVERED, Outcome, failed, quota

HOURS_6_MS = 6 * 3_600_000
QUEUES_AT_ONCE = 500
SENDS_AT_ONCE = 1_000


class Doors:
    """`door://full-7/x` is over quota for the rest of the day, every other door takes all."""

    name = "door"
    shards = 1

    def __init__(self) -> None:
        self.taken = 0
        self.refused = 0
        self._expected = -1
        self._all = asyncio.Event()

    def address(self, queue: str, tenant: str) -> LaneKey:
        """Every server has its lane."""
        return LaneKey(self.name, queue.split("/")[2], tenant=tenant)

    def policy(self, _queue: str, /) -> Policy:
        """As a webhook's."""
        return Policy()

    def pools(self) -> list[str]:
        """All servers."""
        return [self.name]

    def concurrency(self, _pool: str, /) -> int:
        """No limit of its own."""
        return 0

    async def open(self, _lane: LaneKey, /) -> "Doors":
        """Needs no connection."""
        return self

    async def send(self, queue: Queue, _message: Message, /) -> Outcome:
        """At once."""
        if "//full-" in queue.name:
            self.refused += 1
            self._count()
            return quota("full", after_ms=HOURS_6_MS)
        self.taken += 1
        self._count()
        return DELIVERED

    def _count(self) -> None:
        if self.taken + self.refused >= self._expected > 0:
            self._all.set()

    async def answered(self, count: int) -> None:
        """Wait until so many tries were made."""
        self._all.clear()
        self._expected = count
        self._count()
        await self._all.wait()

    def overdue(self, seconds: float) -> Outcome:
        """Never comes to it."""
        return failed(f"no answer in {seconds} s")

    async def close(self) -> None:
        """Nothing to give back."""


def door(number: int, *, full: bool = False) -> str:
    return f"door://{'full-' if full else ''}{number}/x"


def road_of(dsn: str, doors: Doors, settings: Settings | None = None) -> Postroad:
    return Postroad(dsn, settings=settings or Settings(log_level="warning"), transports=[doors])


async def open_doors(road: Postroad, doors: Doors, names: Sequence[str]) -> None:
    """Make the queues, many in one call: the road would make one at a time."""
    specs = [
        QueueSpec(DEFAULT_TENANT, name, doors.address(name, DEFAULT_TENANT), 1, doors.policy(name))
        for name in names
    ]
    for start in range(0, len(specs), QUEUES_AT_ONCE):
        for queue in await road.store.open_queues(specs[start : start + QUEUES_AT_ONCE]):
            road._sending._queues[(queue.tenant, queue.name)] = queue


async def send_round(road: Postroad, names: Sequence[str], count: int) -> None:
    """So many messages, to the doors in turn."""
    for start in range(0, count, SENDS_AT_ONCE):
        end = min(count, start + SENDS_AT_ONCE)
        await road.send_many([(names[n % len(names)], n) for n in range(start, end)])
