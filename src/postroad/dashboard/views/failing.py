"""Queues whose tries all fail: nothing blocks them, and yet nothing arrives."""

from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from postroad.dashboard.paging import PageView
from postroad.dashboard.plots import BUCKET_S, HOUR_MS, parts_of
from postroad.dashboard.rendering import plural
from postroad.model.rollup import NAME_MAX, OTHER
from postroad.verbs.figures import NAMES_MAX

BUSIEST: Final = NAMES_MAX
"""Queues that are looked at: as many as an hour counts of a tenant one by one."""
RECENT: Final = 10
"""Messages that are looked through for the last error."""


class Failing(Struct, frozen=True):
    """The queues of which every try failed since the hour before this one began."""

    since_ms: int
    tries: dict[str, int]

    def sentence(self, queue: str) -> str:
        """How many tries failed; empty if the queue is not failing."""
        if not (number := self.tries.get(queue[:NAME_MAX], 0)):
            return ""
        since = f"{datetime.fromtimestamp(self.since_ms / 1000, UTC):%H:%M} UTC"
        return f"all {plural(number, 'try', 'tries')} since {since} failed"


async def failing_queues(view: PageView) -> Failing:
    """Find the queues that were tried and delivered nothing."""
    since_ms = view.api.now_ms() // HOUR_MS * HOUR_MS - HOUR_MS
    since = datetime.fromtimestamp(since_ms / 1000, UTC).isoformat()
    said = await view.shared(
        "/v1/rollups", BUCKET_S, step="1h", by="queue", names=BUSIEST, since=since
    )
    sums: dict[str, list[int]] = {}
    for point in said["points"]:
        row = sums.setdefault(point["name"], [0, 0, 0])
        row[:] = map(sum, zip(row, parts_of(point["tries"]), strict=True))
    sums.pop(OTHER, None)  # many queues together
    return Failing(since_ms, {name: row[2] for name, row in sums.items() if row[2] and not row[0]})


async def last_error(view: PageView, queue: str) -> str:
    """What the last try of a queue's newest messages said."""
    said = await view.api.get("/v1/messages", queue=queue, limit=RECENT)
    found: list[dict[str, Any]] = said["messages"]
    return next((one["error"] for one in found if one["error"]), "")
