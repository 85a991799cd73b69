"""When timetables come: cron lines and intervals, in their time zones."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from postroad.model.durations import Duration, seconds_of
from postroad.model.errors import BadInput
from postroad.model.states import NEVER
from postroad.model.texts import checked
from postroad.model.ticks import Missed, Schedule
from postroad.model.wording import exact_duration

LATE_MS: Final = 60_000
"""A tick that is found later than this was missed."""
BATCH: Final = 500
"""Ticks decided by one transaction; finding them takes 20 to 40 ms."""
EVERY_MS_MAX: Final = 366 * 86_400_000
SOME_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)


def check_plan(cron: str, tz: str) -> None:
    """Raise BadInput for a cron line or time zone that is wrong, or that has no ticks."""
    if not isinstance(cron, str):
        raise BadInput(f"{cron!r} is no timetable: write @road.every('*/5 * * * *')")
    _ = checked("cron", cron), checked("tz", tz)  # whether they are short enough
    zone = zone_of(tz)
    try:
        next(CronSim(cron, SOME_DAY.astimezone(zone)))
    except CronSimError as error:
        raise BadInput(
            f"cron {cron!r}: {str(error).lower()}; give minute, hour, day of month, month and day "
            "of week, like '*/5 * * * *'"
        ) from None
    except StopIteration:
        raise BadInput(f"cron {cron!r} never comes: no such day in fifty years") from None


def check_missed(missed: str) -> Missed:
    """Return what is done about missed ticks; BadInput if it is none of them."""
    if missed not in Missed.__members__:
        raise BadInput(f"missed={missed!r}: give {', '.join(map(repr, Missed.__members__))}")
    return Missed(missed)


def check_every(every: Duration) -> int:
    """Return an interval in milliseconds; BadInput if it is too short or too long."""
    every_ms = round(seconds_of(every) * 1000)
    if not 1000 <= every_ms <= EVERY_MS_MAX:
        raise BadInput(f"every={every!r}: give one second to a year, as 90 or timedelta(hours=1)")
    return every_ms


def zone_of(tz: str) -> ZoneInfo:
    """Return a time zone; BadInput if this machine does not know it."""
    try:
        return ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise BadInput(
            f"{tz!r} is not a time zone: give a name like 'UTC' or 'Europe/Berlin'"
        ) from None


def ticks_after(schedule: Schedule, after_ms: int) -> Iterator[int]:
    """The ticks of a timetable after a time. A local time that a day skips comes right after the
    gap; one that a day has twice comes the first time."""
    if schedule.every_ms:
        yield from _intervals(schedule, after_ms)
        return
    after = datetime.fromtimestamp(after_ms / 1000, zone_of(schedule.tz))
    for moment in CronSim(schedule.cron, after):
        # In the hour that a clock repeats, CronSim may start with one that is over.
        if (at_ms := int(moment.timestamp() * 1000)) > after_ms:
            yield at_ms


def _intervals(schedule: Schedule, after_ms: int) -> Iterator[int]:
    passed = max(0, (after_ms - schedule.start_ms) // schedule.every_ms)
    at_ms = schedule.start_ms + passed * schedule.every_ms
    while True:
        at_ms += schedule.every_ms
        yield at_ms


def come(schedule: Schedule, decided_ms: int, now_ms: int) -> tuple[list[int], int]:
    """The ticks that are due and not decided, at most a batch; and the one after them."""
    found: list[int] = []
    for at_ms in ticks_after(schedule, decided_ms):
        if at_ms > now_ms or len(found) == BATCH:
            return found, at_ms
        found.append(at_ms)
    return found, NEVER


def to_send(found: Sequence[int], next_ms: int, missed: Missed, now_ms: int) -> set[int]:
    """Which of the ticks that are due get a message."""
    match missed:
        case Missed.all:
            return set(found)
        case Missed.latest:
            return set(found[-1:]) if next_ms > now_ms else set()
        case Missed.skip:
            return {at_ms for at_ms in found if now_ms - at_ms <= LATE_MS}


def told_when(schedule: Schedule) -> str:
    """When a timetable comes, in words: `at 09:00 every day Europe/Berlin`."""
    if schedule.every_ms:
        return f"every {exact_duration(schedule.every_ms)}"
    try:
        words = CronSim(schedule.cron, SOME_DAY).explain()
    except CronSimError:
        return schedule.cron
    return f"{words[:1].lower()}{words[1:]} {schedule.tz}"
