"""Figures of the whole fleet, summed up in buckets of 10 s and of an hour."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.model.outcome import Kind

LATE_BUCKETS: Final = 24
"""Bucket n counts tries that began less than 2^n ms after they were due; the last one the rest:
those that were more than 70 min late."""
KINDS: Final = tuple(Kind)
SETUP: Final = len(KINDS)
DEAD: Final = SETUP + 1
LATE: Final = DEAD + 1
WIDTH: Final = LATE + LATE_BUCKETS
"""The counts of a row: tries by outcome, those that were not made because something is missing on
our side, messages that died, first tries by lateness."""
TRIES: Final = (*map(str, KINDS), "setup")
COLUMNS: Final = (*TRIES, "dead", *(f"late{n}" for n in range(LATE_BUCKETS)))
"""Their names in the store."""
OTHER: Final = "other"
"""The family, and the queue, of all that a full bucket had no place for."""
NAME_MAX: Final = 200
"""Characters of a family or queue; longer ones are cut, and may then be counted together."""
BUCKETS_MAX: Final = 1_000
"""Maximum buckets in one answer: 2 h 46 min of 10 s, or 41 days of an hour."""


class Step(StrEnum):
    """How long a bucket is."""

    ten_seconds = "10s"
    hour = "1h"

    @property
    def seconds(self) -> int:
        """The bucket's length in seconds."""
        return 10 if self is Step.ten_seconds else 3_600

    @property
    def ms(self) -> int:
        """The bucket's length in milliseconds."""
        return self.seconds * 1_000

    def start_of(self, at_ms: int) -> int:
        """Return when the bucket began that a moment belongs to."""
        return at_ms // self.ms * self.ms


class GroupBy(StrEnum):
    """What figures are shown by, beside the time and the outcome."""

    outcome = "outcome"
    """Tries by outcome, and by nothing else."""
    family = "family"
    tenant = "tenant"
    queue = "queue"


KEPT_MS: Final = {Step.ten_seconds: 2 * 3_600_000, Step.hour: 35 * 86_400_000}
"""How long buckets are kept; the janitor deletes them once an hour."""


class Rollup(Struct, frozen=True):
    """Counts to be added to a bucket of the store, by tenant, family and (hourly) queue."""

    step: Step
    at_ms: int
    tenant: str
    family: str
    queue: str
    counts: Sequence[int]


class Point(Struct, frozen=True):
    """The figures of one bucket, all together or of one family, tenant or queue (`name`)."""

    at_ms: int
    name: str
    tries: dict[str, int]
    """Tries by outcome; outcomes that did not occur are left out. `setup`: nothing was sent,
    because something is missing on our side."""
    dead: int
    """Messages that died after a try."""
    late: tuple[int, ...]
    """First tries by lateness: count n is of those less than 2^n ms late, the last of the rest."""
    late_p50_ms: int | None
    late_p99_ms: int | None


class Span(Struct, frozen=True):
    """Which figures are wanted: of one tenant or (None) of all; `names`: how many series at most,
    the busiest ones, with all others in one."""

    step: Step
    since_ms: int
    until_ms: int
    by: GroupBy
    tenant: str | None
    names: int


class Total(Struct, frozen=True):
    """Figures of several buckets together."""

    seconds: int
    tries: dict[str, int]
    tries_per_second: float
    delivered_per_second: float
    dead: int
    late_p50_ms: int | None
    late_p99_ms: int | None


def point(at_ms: int, name: str, counts: Sequence[int]) -> Point:
    """A point from the counts of a row."""
    late = tuple(counts[LATE:])
    tries = {name: counts[n] for n, name in enumerate(TRIES) if counts[n]}
    return Point(at_ms, name, tries, counts[DEAD], late, *median_and_p99(late))


def total(points: Iterable[Point], seconds: int) -> Total:
    """All points together; they cover so many seconds."""
    tries: dict[str, int] = {}
    late, dead = [0] * LATE_BUCKETS, 0
    for each in points:
        for kind, count in each.tries.items():
            tries[kind] = tries.get(kind, 0) + count
        late = [one + more for one, more in zip(late, each.late, strict=True)]
        dead += each.dead
    rate = sum(tries.values()) / seconds
    delivered = tries.get(Kind.delivered, 0) / seconds
    return Total(seconds, tries, rate, delivered, dead, *median_and_p99(late))


def sum_of(one: Point, more: Point) -> Point:
    """Two points of one bucket and name together."""
    tries = {name: one.tries.get(name, 0) + more.tries.get(name, 0) for name in TRIES}
    shown = {name: count for name, count in tries.items() if count}
    late = tuple(map(sum, zip(one.late, more.late, strict=True)))
    figures = (shown, one.dead + more.dead, late)
    return Point(one.at_ms, one.name, *figures, *median_and_p99(late))


def median_and_p99(late: Sequence[int]) -> tuple[int | None, int | None]:
    """The lateness that half, and 99 of 100, of the first tries kept to, in ms."""
    return quantile_ms(late, 0.5), quantile_ms(late, 0.99)


def quantile_ms(late: Sequence[int], share: float) -> int | None:
    """The lateness that this share of the tries kept to, evenly spread within their bucket; None
    without tries."""
    rank = sum(late) * share
    if not rank:
        return None
    for n, count in enumerate(late):
        if rank <= count:
            low, high = (1 << n) // 2, 1 << n
            return round(low + (high - low) * rank / count)
        rank -= count
    return 1 << (len(late) - 1)  # pragma: no cover - rounding


class WorkerState(StrEnum):
    """Whether a worker is alive."""

    working = "working"
    """The process owns lanes, and its lease is good."""
    idle = "idle"
    lost = "lost"
    """The process ended without leaving: its lanes are taken over."""


class Worker(Struct, frozen=True):
    """A process that delivers, and when it was last heard from."""

    process: int
    host: str
    pid: int
    version: str
    state: WorkerState
    lanes: int
    """How many it served when it was last heard from."""
    started_at_ms: int
    heard_at_ms: int


LEASE_MS: Final = 30_000
"""A worker that owns lanes is heard from every 10 s, and lost after 30 s."""
ASKS_MS: Final = 200_000
"""An idle one is heard from every 90 s; one poll may be missed."""


def worker_state(silent_ms: int, lanes: int, *, owns: bool) -> WorkerState:
    """How a worker is that was not heard from for so long."""
    if silent_ms > (LEASE_MS if owns else ASKS_MS):
        return WorkerState.lost
    return WorkerState.working if owns or lanes else WorkerState.idle
