"""`postroad workers` and `postroad plot`: who delivers, and how it went lately."""

import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from postroad.cli.charts import columns, grouped, late_text, rate_text
from postroad.cli.command import Invocation, Listing, command
from postroad.cli.options import Group, Option
from postroad.cli.printing import ago, out
from postroad.model.errors import BadInput

PANEL: Final = "Look after it"
SPANS: Final = {
    "hour": ("10s", 10, 360, (180, 120, 60)),
    "week": ("1h", 3_600, 168, (168, 84, 56)),
}
"""Buckets: their step, its seconds, how many; and how many columns a chart may have."""
HEIGHT: Final = 6
MARGIN: Final = 12


def add(app: Group) -> None:
    """Add the commands."""
    command(app, "workers", panel=PANEL)(workers)
    command(app, "plot", panel=PANEL)(plot)


def workers(call: Listing) -> None:
    """List the processes that deliver, and those that were lost within the last day."""
    said = call.ask("GET", "/v1/workers")
    if call.printed(said):
        return
    heads = ("process#", "host~", "pid#", "version", "state", "lanes#", "started#", "last heard#")
    rows = [
        (
            row["process"],
            row["host"],
            row["pid"],
            row["version"],
            row["state"],
            row["lanes"],
            f"{ago(row['started_at_ms'], said['now_ms'])} ago",
            f"{ago(row['heard_at_ms'], said['now_ms'])} ago",
        )
        for row in said["workers"]
    ]
    call.table(heads, rows, "nobody delivers: start `postroad up` or `postroad worker`")


def plot(
    call: Invocation,
    last: Annotated[str, Option(help="How far back: `hour` or `week`.")] = "hour",
) -> None:
    """Plot deliveries, other tries and lateness of the whole fleet over the last hour or week."""
    if last not in SPANS:
        raise BadInput(f"--last {last[:20]!r}: give hour or week")
    step, seconds, buckets, choices = SPANS[last]
    said = call.ask("GET", "/v1/rollups", {"step": step})
    if call.printed(said):
        return
    room = shutil.get_terminal_size().columns - MARGIN
    wide = next((each for each in choices if each <= room), choices[-1])
    series = BucketSeries(said, seconds, buckets, buckets // wide)
    for title, of, text in CHARTS:
        out().print(f"{title}, last {last}")
        for line in [*columns(series.values(of, seconds), HEIGHT, text), series.axis(wide)]:
            out().print(line)
        out().print("")


class BucketSeries:
    """The last so many buckets of an answer, several in one column."""

    def __init__(self, said: dict[str, Any], seconds: int, buckets: int, size: int) -> None:
        self._points = {point["at_ms"]: point for point in said["points"]}
        self._step_ms = seconds * 1000
        end_ms = said["now_ms"] // self._step_ms * self._step_ms
        self._moments = [end_ms - n * self._step_ms for n in reversed(range(buckets))]
        self._size = size

    def values(self, of: Callable[[dict[str, Any], int], float], seconds: int) -> Sequence[float]:
        """One value a column."""
        found = [self._points.get(at_ms) for at_ms in self._moments]
        return grouped([of(point, seconds) if point else 0.0 for point in found], self._size)

    def axis(self, wide: int) -> str:
        """The line with the first and the last time, under a chart of so many columns."""
        form = "%H:%M" if self._step_ms < 3_600_000 else "%a %d %b %H:%M"
        first, last = (
            f"{datetime.fromtimestamp(at_ms / 1000, UTC):{form}}"
            for at_ms in (self._moments[0], self._moments[-1])
        )
        return f"{first}{last + ' UTC':>{max(0, wide + 8 - len(first))}}"


def _delivered(point: dict[str, Any], seconds: int) -> float:
    return float(point["tries"].get("delivered", 0)) / seconds


def _others(point: dict[str, Any], seconds: int) -> float:
    return float(sum(point["tries"].values())) / seconds - _delivered(point, seconds)


def _late_ms(point: dict[str, Any], _seconds: int) -> float:
    return float(point["late_p99_ms"] or 0)


CHARTS: Final = (
    ("deliveries a second", _delivered, rate_text),
    ("other tries a second (failed, unreachable, quota…)", _others, rate_text),
    ("lateness: 99 of 100 messages were first tried within", _late_ms, late_text),
)
