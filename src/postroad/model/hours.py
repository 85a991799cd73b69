"""Allowed hours: when tries may start, by the clock on the recipient's wall."""

import re
from datetime import datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.model.outcome import Kind, Outcome
from postroad.model.texts import ID_MAX, checked

TIME: Final = "([01][0-9]|2[0-3]):([0-5][0-9])"
SPAN: Final = re.compile(f"{TIME}-(?:{TIME}|24:00)")
MINUTE_MS: Final = 60_000
DAY_MS: Final = 86_400_000
ZONE: Final = "postroad-zone"
"""The header of a message that names its recipient's zone."""
OUTSIDE: Final = "outside the allowed hours"
ROUNDS: Final = 16
"""Several hours are asked in turn until all of them are open; some never are together."""


class OpenHours(Struct, frozen=True, array_like=True):
    """Tries start from `start` to `end` in a zone; across midnight where the end is the smaller."""

    text: str
    zone: str

    def opens_at_ms(self, now_ms: int, zone: str = "") -> int:
        """Return when a try may start: now, or the next opening. `zone` is the recipient's own."""
        where = zone_of(zone or self.zone)
        if self._is_open(now_ms, where):
            return now_ms
        at_ms = self._next_start_ms(now_ms, where)
        while self._is_open(at_ms - MINUTE_MS, where):
            at_ms -= MINUTE_MS  # the clock is put forward over the start: its jump is the opening
        return at_ms

    def _is_open(self, at_ms: int, where: ZoneInfo) -> bool:
        start, end = _span(self.text)
        wall = datetime.fromtimestamp(at_ms / 1000, where).time()
        return start <= wall < end if start < end else wall >= start or wall < end

    def _next_start_ms(self, now_ms: int, where: ZoneInfo) -> int:
        today = datetime.fromtimestamp(now_ms / 1000, where).date()
        start, _ = _span(self.text)
        starts = [
            datetime.combine(today + timedelta(days), start, where).replace(fold=fold)
            for days in range(4)
            for fold in (0, 1)  # a clock that is put back shows an hour twice
        ]
        found_ms = [round(each.timestamp() * 1000) for each in starts]
        return min(at_ms for at_ms in found_ms if at_ms > now_ms and self._is_open(at_ms, where))


def opens_at_ms(hours: tuple[OpenHours, ...], now_ms: int, zone: str = "") -> int:
    """Return when a try may start under all of these; a day later where they never meet."""
    at_ms = now_ms
    for _ in range(ROUNDS):
        latest_ms = max((each.opens_at_ms(at_ms, zone) for each in hours), default=at_ms)
        if latest_ms == at_ms:
            return at_ms
        at_ms = latest_ms
    return now_ms + DAY_MS


def closed(hours: tuple[OpenHours, ...], headers: bytes, now_ms: int) -> Outcome | None:
    """Return the outcome of a message that may not be tried now, which waits for the next opening;
    None if it may."""
    zone = _own_zone(headers) if ZONE.encode() in headers else ""
    at_ms = opens_at_ms(hours, now_ms, zone)
    if at_ms <= now_ms:
        return None
    spans = ", ".join(f"{each.text} {zone or each.zone}" for each in hours)
    return Outcome(Kind.later, f"{OUTSIDE} {spans}", at_ms - now_ms, answered=False)


def _own_zone(headers: bytes) -> str:
    """Return the zone that a message names. One that this machine does not know is as none."""
    return known_zone(str(msgspec.json.decode(headers).get(ZONE, "")))


def known_zone(name: str) -> str:
    """Return a zone's name; nothing when this machine does not know it."""
    try:
        return check_zone(name) if name else ""
    except BadInput:
        return ""


def read_hours(text: str, zone: str) -> OpenHours:
    """Read `09:00-20:00` in a zone; BadInput says what is wrong."""
    if SPAN.fullmatch(checked("hours", text, ID_MAX)) is None:
        raise BadInput(f"hours {text!r}: write them as 09:00-20:00")
    start, end = _span(text)
    if start == end:
        raise BadInput(f"hours {text!r}: they begin and end at the same time; leave them out")
    return OpenHours(text, check_zone(zone or "UTC"))


def check_zone(zone: str) -> str:
    """Return the zone's name; BadInput when there is no such zone."""
    _ = zone_of(zone)  # raises
    return zone


@lru_cache(1024)
def zone_of(name: str) -> ZoneInfo:
    """Return a zone by its name."""
    try:
        return ZoneInfo(name[: ID_MAX + 1])
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise BadInput(
            f"{name[:ID_MAX]!r} is not a time zone: give a name like 'UTC' or 'Europe/Berlin'"
        ) from None


@lru_cache(256)
def _span(text: str) -> tuple[time, time]:
    found = SPAN.fullmatch(text)
    if found is None:
        raise BadInput(f"hours {text!r}: write them as 09:00-20:00")
    first, last = time(int(found[1]), int(found[2])), found[3]
    return first, time(int(last), int(found[4])) if last else time.max
