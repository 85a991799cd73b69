"""A storm of dead messages is told of in one pass over its endpoints."""

from types import SimpleNamespace
from typing import Any, cast

from postroad.verbs.dead_notices import DeadNotices

ENDPOINTS = 500


class CountedTime(float):
    """A time that counts how often others are compared with it."""

    compared = 0

    def __lt__(self, other: float) -> bool:
        CountedTime.compared += 1
        return float(self) < float(other)


class Storm:
    """All that notices ask: a clock, the endpoints, their rules, and whether they are told of."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.told: list[int] = []

    def steady_s(self) -> float:
        return CountedTime(self.now_s)

    async def endpoints_of(self, queues: list[int]) -> list[Any]:
        rows = [SimpleNamespace(queue=queue, tenant="default", life=None) for queue in queues]
        return [SimpleNamespace(row=row) for row in rows]

    async def rules_of(self, _store: object, _entry: object) -> Any:
        return SimpleNamespace(dead_every_s=60)

    async def turn(self, entry: Any, *_: object, dead: int) -> bool:
        self.told.append(entry.row.queue)
        return dead > 0


async def test_a_storm_costs_what_it_has_endpoints() -> None:
    storm: Any = Storm()
    notices = DeadNotices(storm, storm, cast(Any, storm.rules_of))
    for passed_s, told in ((0, ENDPOINTS), (30, ENDPOINTS), (61, 2 * ENDPOINTS)):
        storm.now_s = 1_000.0 + passed_s
        for queue in range(ENDPOINTS):
            notices.add(queue, 1)
        await notices.tell(storm)
        assert len(storm.told) == told
    assert CountedTime.compared < 10 * ENDPOINTS
