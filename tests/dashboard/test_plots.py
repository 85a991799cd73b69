"""What the plots draw."""

import re

import pytest

from postroad.dashboard.plots import ALONE, HOUR_MS, Slot, lateness

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
