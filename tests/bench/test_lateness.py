"""Parts are compared with their neighbours, and the interval says what the figure is worth."""

import random

import pytest

from bench.lateness import over, over_itself, p99_us


def parts(dice: random.Random, count: int, times: float = 1.0) -> list[list[int]]:
    """Each with its own moment of the machine."""
    return [[int(times * dice.lognormvariate(7, 0.5)) for _ in range(600)] for _ in range(count)]


def test_of_a_hundred_one_is_later() -> None:
    assert p99_us(range(100)) == 99
    assert p99_us(range(1_000, 0, -1)) == 991


def test_a_busy_moment_that_hits_both_of_a_pair_changes_nothing() -> None:
    calm, troubled = parts(random.Random(1), 8), parts(random.Random(2), 8)
    plain = over(calm, troubled)
    calm[3], troubled[3] = [9 * us for us in calm[3]], [9 * us for us in troubled[3]]
    assert over(calm, troubled).value == pytest.approx(plain.value)


def test_the_interval_holds_what_is_true_and_not_what_is_far_from_it() -> None:
    calm, troubled = parts(random.Random(3), 20), parts(random.Random(4), 20, times=1.25)
    ratio = over(calm, troubled)
    assert ratio.low < ratio.value < ratio.high
    assert ratio.low < 0.8 < ratio.high < 0.909
    assert ratio.pairs == 20


def test_the_control_compares_a_kind_with_itself() -> None:
    control = over_itself(parts(random.Random(5), 21))
    assert control is not None
    assert control.pairs == 10
    assert control.low < 1 < control.high
    assert over_itself(parts(random.Random(6), 1)) is None
