"""Timetables: which ticks there are, what is sent of those that have come, and bad ones."""

import functools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad import Message, Postroad
from postroad.model.errors import BadInput
from postroad.model.ticks import Missed, Schedule
from postroad.verbs.cron import come, ticks_after, to_send

BERLIN = "Europe/Berlin"


# The timetable


def local(tz: str, cron: str, after: str, count: int) -> list[str]:
    """The next ticks in local time."""
    zone = datetime.fromisoformat(after).replace(tzinfo=UTC)
    found = ticks_after(Schedule("it", cron, tz), int(zone.timestamp() * 1000))
    return [
        datetime.fromtimestamp(next(found) / 1000, UTC).strftime("%m-%d %H:%M")
        for _ in range(count)
    ]


def test_an_hour_that_does_not_exist_is_made_up_and_one_that_comes_twice_counts_once() -> None:
    """Berlin, March and October 2026; the times shown are UTC."""
    nightly = "30 2 * * *"
    assert local(BERLIN, nightly, "2026-03-28", 3) == ["03-28 01:30", "03-29 01:00", "03-30 00:30"]
    assert local(BERLIN, nightly, "2026-10-24", 3) == ["10-24 00:30", "10-25 00:30", "10-26 01:30"]
    # In the repeated hour itself, after its first pass, nothing of it comes again.
    assert local(BERLIN, nightly, "2026-10-25T00:45", 1) == ["10-26 01:30"]
    half_hours = "*/30 * * * *"
    assert local(BERLIN, half_hours, "2026-10-25T00:29", 3) == [
        "10-25 00:30",
        "10-25 01:00",
        "10-25 01:30",
    ]


@given(
    cron=st.sampled_from(
        ["*/7 * * * *", "30 2 * * *", "0,30 1-3 * * *", "15 */2 * * SUN", "0 0 1 * *"]
    ),
    start_min=st.integers(0, 1_000_000),
    cut=st.integers(1, 19),
)
def test_wherever_one_starts_to_count_the_ticks_are_the_same(
    cron: str, start_min: int, cut: int
) -> None:
    """Else two engines would not agree on what a tick is."""
    start_ms = 1_767_225_600_000 + start_min * 60_000
    plan = Schedule("it", cron, BERLIN)
    whole = ticks_after(plan, start_ms)
    ticks = [next(whole) for _ in range(20)]
    assert ticks == sorted(set(ticks))
    again = ticks_after(plan, ticks[cut - 1])
    assert [next(again) for _ in range(20 - cut)] == ticks[cut:]
    between = ticks_after(plan, (ticks[cut - 1] + ticks[cut]) // 2)
    assert next(between) == ticks[cut]


def test_what_is_sent_of_what_has_come() -> None:
    """Pure: the ticks, the next one, the policy, the time."""
    plan, minute = Schedule("it", "* * * * *", "UTC"), 60_000
    found, next_ms = come(plan, 0, 5 * minute + 1)
    assert found == [n * minute for n in (1, 2, 3, 4, 5)]
    assert next_ms == 6 * minute
    now_ms = 5 * minute + 1
    assert to_send(found, next_ms, Missed.latest, now_ms) == {5 * minute}
    assert to_send(found, next_ms, Missed.all, now_ms) == set(found)
    assert to_send(found, next_ms, Missed.skip, now_ms) == {5 * minute}
    many, next_ms = come(plan, 0, 1000 * minute)
    assert len(many) == 500
    assert to_send(many, next_ms, Missed.latest, 1000 * minute) == set()


# At registration


@pytest.mark.parametrize(
    ("cron", "says"),
    [
        ("* * * *", "wrong number of fields; give minute, hour"),
        ("61 * * * *", "bad minute"),
        ("0 25 * * *", "bad hour"),
        ("0 0 30 2 *", "bad day-of-month"),
        ("@daily", "wrong number"),
        ("", "wrong number"),
    ],
)
def test_a_bad_cron_is_refused_where_it_is_written(road: Postroad, cron: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        road.every(cron)


@pytest.mark.parametrize("tz", ["", "Nowhere/Town", "../etc/passwd", "UTC\0"])
def test_a_bad_time_zone_is_refused_where_it_is_written(road: Postroad, tz: str) -> None:
    with pytest.raises(
        BadInput, match=r"is not a time zone: give a name like|tz has a zero character"
    ):
        road.every("0 0 * * *", tz=tz)


def test_other_mistakes_are_refused_too(road: Postroad) -> None:
    """A policy that is none, a second schedule of one name, a function of two arguments."""
    with pytest.raises(BadInput, match="'latest', 'all', 'skip'"):
        road.every("0 0 * * *", missed="none")
    with pytest.raises(BadInput, match="retries=-1"):
        road.every("0 0 * * *", retries=-1)(lambda: None)

    @road.every("0 0 * * *")
    def tidy() -> None: ...

    with pytest.raises(BadInput, match="'cron:tidy' is registered already"):
        road.every("0 1 * * *")(tidy)
    with pytest.raises(BadInput, match="has no name of its own"):
        road.every("0 1 * * *")(functools.partial(tidy))
    with pytest.raises(BadInput, match="takes no argument, or the message"):
        road.every("0 1 * * *", name="two")(lambda one, two: (one, two))


def test_plain_functions_and_messages_are_called_in_real_time(
    road: Postroad, within: Callable[..., Any]
) -> None:
    """Every second, in a thread: cron with six fields has seconds."""
    seen: list[str] = []

    @road.every("* * * * * *", tz=BERLIN)
    def each() -> None:
        seen.append("each")
        road.stop()

    @road.every("* * * * * *", tz=BERLIN)
    async def told(message: Message[dict[str, str]]) -> None:
        seen.append(message.body["at"][-6:])

    async def story() -> None:
        async with road:
            while len(set(seen)) < 2:
                await road.run()

    within(story())
    assert "each" in seen
    assert {"+01:00", "+02:00"} & set(seen)
