"""Whose lanes are claimed when more are ready than a claim takes: tenants take turns."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

ROUND_MS: Final = 1_000


class ReadyLane(NamedTuple):
    """A lane that is ready, and since when."""

    at_ms: int
    lane: int
    tenant: str


def in_turn(ready: Iterable[ReadyLane], limit: int) -> list[int]:
    """Choose up to `limit` lanes: one of each tenant after the other, the longest ready first."""
    first: dict[int, str] = {}
    for one in sorted(ready):
        first.setdefault(one.lane, one.tenant)
    if len(first) <= limit:
        return list(first)
    turns: Counter[str] = Counter()
    places: list[tuple[int, int, int]] = []
    for place, (lane, tenant) in enumerate(first.items()):
        turns[tenant] += 1
        places.append((turns[tenant], place, lane))
    return [lane for _, _, lane in sorted(places)[:limit]]


def soon_again(next_at_ms: dict[int, int], now_ms: int) -> dict[int, int]:
    """Return when to claim again after the last claim of a round over more tenants than one claim
    takes: rings for lanes of earlier tenants were lost meanwhile."""
    return {level: min(at_ms, now_ms + ROUND_MS) for level, at_ms in next_at_ms.items()}
