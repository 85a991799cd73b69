"""What the plots draw."""

import re

import pytest

from postroad.dashboard.plots import (
    ALONE,
    HOUR_MS,
    Slot,
    answer_times,
    backlog,
    deliveries,
    lateness,
)

WEEK = 168


@pytest.mark.parametrize("at", [[0], [80], [WEEK - 1], [3, 5]])
def test_a_value_without_neighbours_can_be_seen(at: list[int]) -> None:
    shown = [Slot(n * HOUR_MS, {}, (0, 0, 5) if n in at else ()) for n in range(WEEK)]
    drawn = lateness("late", "Lateness", shown)
    widths = [float(each) for _, path in drawn.paths for each in re.findall(r"h([\d.]+)", path)]
    assert widths == [ALONE] * len(at) * 2


def test_neighbours_are_one_line() -> None:
    shown = [Slot(n * HOUR_MS, {}, (0, 0, 5) if n < 3 else ()) for n in range(WEEK)]
    for _, path in lateness("late", "Lateness", shown).paths:
        assert path.count("M") == 1
        assert path.count("L") == 2


def test_bars_of_one_colour_are_one_path_and_stand_on_each_other() -> None:
    shown = [Slot(n * HOUR_MS, {"delivered": 3, "rejected": 1}, ()) for n in range(24)]
    drawn = deliveries("tries", "Tries", shown)
    assert [style for style, _ in drawn.paths] == ["fill-good", "fill-bad"]
    good, bad = (re.findall(r"M[\d.]+ ([\d.]+)h[\d.]+v([\d.]+)", path) for _, path in drawn.paths)
    assert len(good) == len(bad) == len(shown)
    for (top, _), (high, height) in zip(good, bad, strict=True):
        assert float(high) + float(height) == pytest.approx(float(top))


def test_a_backlog_has_a_bar_for_each_level_and_the_same_in_its_table() -> None:
    drawn = backlog("levels", {0: 7, 2: 12_000}, {2: 5}, whole=True)
    assert drawn.rows == [("0", ["7", "0"]), ("2", ["12\u2009000+", "5"])]
    assert [text for _, _, text in drawn.times] == list("0123456")
    assert [(style, path.count("M")) for style, path in drawn.paths] == [
        ("fill-info", 2),
        ("fill-warn", 1),
    ]
    assert drawn.said == "12\u2009007+ waiting, 5 held"
    assert backlog("levels", {}, {}).paths == []


def test_answer_times_are_those_of_the_points_of_an_endpoint() -> None:
    shown = [Slot(n * HOUR_MS, {}, ()) for n in range(24)]
    points = [{"at_ms": 3 * HOUR_MS, "took_p50_ms": 20, "took_p99_ms": 900}]
    drawn = answer_times("took", "Time to answer", shown, points, (20, 900))
    assert [row[1] for row in drawn.rows] == [["20 ms", "900 ms"]]
    assert drawn.said == "half in 20 ms, 99 % in 900 ms"
    assert len(drawn.paths) == 2
    assert (
        answer_times("took", "Time to answer", shown, [], (None, None)).said
        == "nothing was answered"
    )


@pytest.mark.parametrize("bucket", range(24))
def test_no_value_is_above_the_top_rule(bucket: int) -> None:
    late = tuple(5 * (n == bucket) for n in range(24))
    drawn = lateness("late", "Lateness", [Slot(n * HOUR_MS, {}, late) for n in range(24)])
    heights = [
        float(y) for _, path in drawn.paths for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)
    ]
    assert min(heights) >= min(y for y, _ in drawn.rules)
