"""Figures of the whole fleet: tries by outcome and lateness over time, and who works."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput
from postroad.model.rollup import (
    BUCKETS_MAX,
    KEPT_MS,
    OTHER,
    GroupBy,
    Point,
    Rollup,
    Span,
    Step,
    Total,
    Worker,
    point,
    sum_of,
    total,
)
from postroad.ports.store import Store
from postroad.verbs.bounding import bounded
from postroad.verbs.paging import moment_ms, span_ms

NAMES_MAX: Final = 100
WRITTEN_MS: Final = 2_000
"""How long after its end a bucket is sure to have the figures of all processes."""
RECENT_MAX: Final = 1_000
"""Tenants whose recent figures are kept."""
Unwritten = Callable[[], Sequence[Rollup]]
"""The figures of this process that the store does not have yet."""


class RollupPage(Struct, frozen=True):
    """Buckets in order of time. Until `complete_until_ms` they have the figures of all processes;
    in a later one those of others are missing."""

    step: Step
    by: GroupBy
    since_ms: int
    until_ms: int
    complete_until_ms: int
    now_ms: int
    points: tuple[Point, ...]


class RecentFigures(Struct, frozen=True):
    """The figures of the fleet in the last minute and in the last hour."""

    minute: Total
    hour: Total


class WorkerPage(Struct, frozen=True):
    """All processes that deliver, and those that were lost within the last day."""

    workers: tuple[Worker, ...]
    now_ms: int


class FleetWorkers:
    """List the processes that deliver."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self) -> WorkerPage:
        """List workers with host, process id, release, lanes and when each was last heard from."""
        found = await self._store.workers()
        return WorkerPage(tuple(found), self._store.clock.now_ms())


@bounded
class FleetRollups:
    """Read figures of the whole fleet, in buckets of 10 s (kept for 2 h) and of an hour (kept for
    35 days)."""

    def __init__(self, store: Store, unwritten: Unwritten) -> None:
        self._store = store
        self._unwritten = unwritten
        self._recent: OrderedDict[str | None, tuple[int, RecentFigures]] = OrderedDict()
        """By tenant, and up to when: the same for all who ask within ten seconds."""

    async def list(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        step: str = "10s",
        by: str = "outcome",
        names: int = 10,
        tenant: str | None = DEFAULT_TENANT,
    ) -> RollupPage:
        """Tries by outcome, deaths and lateness: from `since` (all that is kept) to `until` (now),
        each `10s` or `1h`, and by `family`, `tenant` or `queue` (`1h` only) or by `outcome` alone.
        Of more than `names` the busiest are shown, and the rest is one."""
        now_ms = self._store.clock.now_ms()
        wide, group = _step(step), _group(by)
        if group is GroupBy.queue and wide is not Step.hour:
            raise BadInput("by=queue: queues are counted by the hour, give step=1h")
        if not 1 <= names <= NAMES_MAX:
            raise BadInput(f"names={names}: give 1 to {NAMES_MAX}")
        until_ms = moment_ms(until, "until", now_ms)
        since_ms, until_ms = span_ms(since, until, (until_ms - KEPT_MS[wide], now_ms))
        first_ms = wide.start_of(since_ms)
        if (until_ms - first_ms) // wide.ms > BUCKETS_MAX:
            raise BadInput(
                f"since and until are more than {BUCKETS_MAX} buckets apart: ask for a shorter "
                "time, or for step=1h"
            )
        found = await self._read(Span(wide, first_ms, until_ms, group, tenant, names))
        shown = (first_ms, until_ms, _complete_ms(wide, now_ms), now_ms)
        return RollupPage(wide, group, *shown, tuple(found))

    async def recent(self, *, tenant: str | None = DEFAULT_TENANT) -> RecentFigures:
        """Sum up the last minute and the last hour, up to the last complete bucket of 10 s."""
        until_ms = _complete_ms(Step.ten_seconds, self._store.clock.now_ms())
        kept = self._recent.get(tenant)
        if kept is not None and kept[0] == until_ms:
            return kept[1]
        since_ms = until_ms - 3_600_000
        span = Span(Step.ten_seconds, since_ms, until_ms, GroupBy.outcome, tenant, 1)
        found = await self._read(span)
        last = [one for one in found if one.at_ms >= until_ms - 60_000]
        figures = RecentFigures(total(last, 60), total(found, 3_600))
        self._recent.pop(tenant, None)
        self._recent[tenant] = (until_ms, figures)
        while len(self._recent) > RECENT_MAX:
            self._recent.popitem(last=False)
        return figures

    async def _read(self, span: Span) -> "Sequence[Point]":
        found = {(one.at_ms, one.name): one for one in await self._store.rollups(span)}
        names = {name for _, name in found}
        for row in self._unwritten():
            if _matches(row, span):
                name = _name(row, span.by)
                if name not in names and len(names) >= span.names:
                    name = OTHER
                names.add(name)
                key, more = (row.at_ms, name), point(row.at_ms, name, row.counts)
                found[key] = sum_of(found[key], more) if key in found else more
        return [found[key] for key in sorted(found)]


def _complete_ms(step: Step, now_ms: int) -> int:
    return step.start_of(now_ms - WRITTEN_MS)


def _matches(row: Rollup, span: Span) -> bool:
    within = span.since_ms <= row.at_ms < span.until_ms
    return row.step is span.step and within and span.tenant in (None, row.tenant)


def _name(row: Rollup, by: GroupBy) -> str:
    match by:
        case GroupBy.family:
            return row.family
        case GroupBy.tenant:
            return row.tenant
        case GroupBy.queue:
            return row.queue
        case GroupBy.outcome:
            return ""


def _step(step: str) -> Step:
    try:
        return Step(step)
    except ValueError:
        raise BadInput(f"step={step[:20]!r}: give 10s or 1h") from None


def _group(by: str) -> GroupBy:
    try:
        return GroupBy(by)
    except ValueError:
        raise BadInput(f"by={by[:20]!r}: give outcome, family, tenant or queue") from None
