"""What a handler raises to hold more than its message: its queue, or its order key."""

from datetime import datetime
from typing import Final

from msgspec import Struct

from postroad.model.durations import CENTURY_S, Duration, seconds_of
from postroad.model.errors import BadTime

SHORTEST_MS: Final = 1_000
"""A hold whose end has passed lasts so long: a handler is not called again at once for ever."""


class Hold(Struct, frozen=True, gc=False):
    """Until when something is held: a time, or (0) so long from now."""

    until_ms: int
    after_ms: int

    def end_ms(self, now_ms: int) -> int:
        """Return when it ends, if it begins now: after a century at the latest."""
        end_ms = self.until_ms or now_ms + self.after_ms
        return min(max(end_ms, now_ms + SHORTEST_MS), now_ms + CENTURY_S * 1000)


def hold_until(until: object, who: str) -> Hold:
    """Read when a hold ends: a datetime with its time zone, seconds from now, or a timedelta."""
    if isinstance(until, datetime):
        if until.tzinfo is None:
            raise BadTime(f"{who}: {until} has no time zone: give one, as datetime.now(UTC)")
        return Hold(round(until.timestamp() * 1000), 0)
    after_s = seconds_of(until)
    if not 0 <= after_s <= CENTURY_S:
        raise BadTime(
            f"{who}({until!r:.100}): give a datetime with its time zone, seconds from now or a "
            "timedelta, not a negative one, at most a century"
        )
    return Hold(0, int(after_s * 1000))


class HoldQueue(Exception):
    """Raise in a handler: nothing of this queue is tried until then. The message spends no level,
    and is tried again first."""

    def __init__(self, until: datetime | Duration, reason: str = "") -> None:
        super().__init__(reason or f"the handler holds the queue until {until}")
        self.hold = hold_until(until, "HoldQueue")


class HoldKey(Exception):
    """Raise in a handler: this message, and all behind it with its order key, wait until then. It
    spends no level. A message without an order key waits alone."""

    def __init__(self, until: datetime | Duration, reason: str = "") -> None:
        super().__init__(reason or f"the handler holds the order key until {until}")
        self.hold = hold_until(until, "HoldKey")
