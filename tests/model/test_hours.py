"""Allowed hours: by the clock on the wall, also where that clock is changed."""

from datetime import UTC, datetime

import pytest

from postroad.model.errors import BadInput
from postroad.model.hours import ZONE, OpenHours, closed, opens_at_ms, read_hours
from postroad.model.outcome import Kind
from postroad.model.pace import make_limit


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def opens(hours: OpenHours, at: str, zone: str = "") -> str:
    at_ms = hours.opens_at_ms(ms(at), zone)
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M")


@pytest.mark.parametrize(
    ("hours", "zone", "at", "then"),
    [
        ("09:00-20:00", "UTC", "2026-01-01T08:59:59", "2026-01-01T09:00"),
        ("09:00-20:00", "UTC", "2026-01-01T09:00", "2026-01-01T09:00"),
        ("09:00-20:00", "UTC", "2026-01-01T20:00", "2026-01-02T09:00"),
        ("09:00-20:00", "Asia/Singapore", "2026-01-01T00:30", "2026-01-01T01:00"),
        ("09:00-24:00", "UTC", "2026-01-01T23:59:59", "2026-01-01T23:59"),
        ("22:00-06:00", "UTC", "2026-01-01T23:00", "2026-01-01T23:00"),
        ("22:00-06:00", "UTC", "2026-01-01T05:59", "2026-01-01T05:59"),
        ("22:00-06:00", "UTC", "2026-01-01T06:00", "2026-01-01T22:00"),
        # Summer time begins in Berlin on 2026-03-29 at 01:00 UTC: 02:00 becomes 03:00.
        ("09:00-20:00", "Europe/Berlin", "2026-03-28T19:00", "2026-03-29T07:00"),
        ("02:30-05:00", "Europe/Berlin", "2026-03-29T00:50", "2026-03-29T01:00"),
        # It ends on 2026-10-25 at 01:00 UTC: 02:00 to 03:00 comes twice.
        ("09:00-20:00", "Europe/Berlin", "2026-10-24T18:00", "2026-10-25T08:00"),
        ("02:30-05:00", "Europe/Berlin", "2026-10-25T00:10", "2026-10-25T00:30"),
        ("02:30-05:00", "Europe/Berlin", "2026-10-25T01:10", "2026-10-25T01:30"),
        # Samoa left out 2011-12-30.
        ("09:00-10:00", "Pacific/Apia", "2011-12-30T06:00", "2011-12-30T19:00"),
    ],
)
def test_the_next_opening(hours: str, zone: str, at: str, then: str) -> None:
    assert opens(read_hours(hours, zone), at) == then


def test_no_moment_of_a_year_is_wrong_by_its_own_clock() -> None:
    for zone in ("Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"):
        hours = read_hours("02:15-03:45", zone)
        for at_ms in range(ms("2026-01-01"), ms("2027-01-01"), 25_201_000):
            then_ms = hours.opens_at_ms(at_ms)
            assert at_ms <= then_ms <= at_ms + 26 * 3_600_000
            assert hours.opens_at_ms(then_ms) == then_ms, (zone, at_ms)
            assert then_ms == at_ms or hours.opens_at_ms(then_ms - 60_000) == then_ms


def test_several_hours_have_to_be_open_at_once() -> None:
    both = (read_hours("09:00-20:00", "UTC"), read_hours("08:00-12:00", "America/New_York"))
    assert opens_at_ms(both, ms("2026-01-01T10:00")) == ms("2026-01-01T13:00")
    never = (read_hours("09:00-10:00", "UTC"), read_hours("11:00-12:00", "UTC"))
    assert opens_at_ms(never, ms("2026-01-01T09:30")) == ms("2026-01-02T09:30")


def test_a_messages_own_zone_counts_before_that_of_the_limit() -> None:
    hours, at_ms = (read_hours("09:00-20:00", "UTC"),), ms("2026-01-01T10:00")
    assert closed(hours, b"", at_ms) is None
    headers = b'{"a":"b","%s":"America/New_York"}' % ZONE.encode()
    waits = closed(hours, headers, at_ms)
    assert waits is not None
    assert (waits.kind, waits.answered, waits.after_ms) == (Kind.later, False, 4 * 3_600_000)
    assert waits.error == "outside the allowed hours 09:00-20:00 America/New_York"
    unknown = b'{"%s":"Mars/Olympus"}' % ZONE.encode()
    assert closed(hours, unknown, at_ms) is None


@pytest.mark.parametrize(
    ("hours", "zone", "says"),
    [
        ("9-20", "UTC", "09:00-20:00"),
        ("09:00-25:00", "UTC", "09:00-20:00"),
        ("09:00-09:00", "UTC", "same time"),
        ("09:00-20:00", "Mars/Olympus", "not a time zone"),
        ("09:00-20:00", "../../etc/passwd", "not a time zone"),
        ("09:00-20:00", "x" * 100_000, "not a time zone"),
        ("0" * 100_000, "UTC", "at most"),
        ("", "UTC", "without hours"),
    ],
)
def test_bad_hours_are_refused(hours: str, zone: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        make_limit("50/s", 1, hours, zone)
