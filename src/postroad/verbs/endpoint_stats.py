"""Statistics of an endpoint, by hour or day."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from postroad.model.block import BlockKind
from postroad.model.endpoint_life import DEAD, HOUR_MS, HOURS_KEPT_MS, SETUP, TOOK, WIDTH
from postroad.model.entities import DAY_MS
from postroad.model.errors import BadInput
from postroad.model.rollup import KINDS, quantile_ms
from postroad.model.states import NEVER
from postroad.ports.endpoint_life import HourCounts
from postroad.verbs.paging import span_ms

WIDTHS_MS: Final = {"hour": HOUR_MS, "day": DAY_MS}


class StatsSpan(Struct, frozen=True):
    """Which statistics are asked for."""

    by: Literal["hour", "day"] = "hour"
    since: datetime | None = None
    until: datetime | None = None

    def times(self, now_ms: int) -> tuple[int, int]:
        """Return the start and the end in ms: of the last day if nothing is given."""
        if self.by not in WIDTHS_MS:
            raise BadInput(f"by={self.by!r}: 'hour' or 'day'")
        since_ms, until_ms = span_ms(self.since, self.until)
        until_ms = min(until_ms, now_ms + 1) if until_ms < NEVER else now_ms + 1
        width_ms = WIDTHS_MS[self.by]
        since_ms = since_ms or until_ms - DAY_MS
        return max(since_ms, now_ms - HOURS_KEPT_MS) // width_ms * width_ms, until_ms


class EndpointPoint(Struct, frozen=True):
    """What an endpoint answered in one hour or day."""

    at_ms: int
    tries: dict[str, int]
    """By outcome; outcomes that did not occur are left out. `setup`: nothing was sent, because
    something is missing on our side."""
    dead: int
    """Messages that died after a try."""
    took_p50_ms: int | None
    took_p99_ms: int | None


class EndpointStats(Struct, frozen=True):
    """What an endpoint answered, and what waits for it."""

    id: str
    since_ms: int
    until_ms: int
    total: EndpointPoint
    points: tuple[EndpointPoint, ...]
    waiting: int
    """Counted up to 10,000."""
    oldest_waiting_ms: int | None
    """How long the oldest waiting message has been stored."""
    died: int
    """Messages in the dead set that `recover` would send again; counted up to 10,000."""


class Recovery(Struct, frozen=True):
    """What is sent again, or would be: so many messages that died since a time."""

    id: str
    since_ms: int
    messages: int
    replay: str
    """The replay that sends them; empty if there is nothing to send, or it was only counted."""


def points_of(hours: Iterable[HourCounts], by: str) -> tuple[EndpointPoint, ...]:
    """Hours as they are shown, or whole days of them."""
    width_ms = WIDTHS_MS[by]
    sums: dict[int, list[int]] = {}
    for at_ms, counts in hours:
        row = sums.setdefault(at_ms // width_ms * width_ms, [0] * WIDTH)
        row[:] = map(sum, zip(row, counts, strict=True))
    return tuple(point_of(at_ms, row) for at_ms, row in sorted(sums.items()))


def total_of(hours: Sequence[HourCounts], since_ms: int) -> EndpointPoint:
    """All hours together."""
    counts = [sum(column) for column in zip(*(one for _, one in hours), strict=True)]
    return point_of(since_ms, counts or [0] * WIDTH)


def point_of(at_ms: int, counts: Sequence[int]) -> EndpointPoint:
    """A point from the counts of a row."""
    tries = {str(kind): counts[n] for n, kind in enumerate(KINDS) if counts[n]}
    if counts[SETUP]:
        tries[BlockKind.setup] = counts[SETUP]
    took = counts[TOOK:SETUP]
    return EndpointPoint(
        at_ms, tries, counts[DEAD], quantile_ms(took, 0.5), quantile_ms(took, 0.99)
    )
