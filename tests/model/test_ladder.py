"""Ladders: how long a message waits before each next try."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.model.errors import BadInput
from postroad.model.ladder import (
    DEFAULT_LADDER,
    Exponential,
    Ladder,
    Steps,
    check_ladder,
    jittered_ms,
    queries_per_hour,
    with_retries,
)
from tests.model.given_values import draws, exponentials, ladders, levels, steps

MINUTE_MS = 60_000


def test_the_default_ladder_is_seed_001s() -> None:
    delays = [DEFAULT_LADDER.delay_ms(level) // MINUTE_MS for level in range(7)]
    assert delays == [0, 1, 5, 10, 30, 60, 120]
    assert DEFAULT_LADDER.retries == 6


def test_polling_by_the_level_table_takes_889_queries_an_hour() -> None:
    assert queries_per_hour() == [720, 120, 30, 12, 4, 2, 1]
    assert sum(queries_per_hour()) == 889


@given(ladders)
def test_the_first_try_waits_for_nothing(ladder: Ladder) -> None:
    assert ladder.delay_ms(0) == 0


@given(ladders, st.integers(1, 10_000))
def test_every_later_try_waits(ladder: Ladder, level: int) -> None:
    assert ladder.delay_ms(level) > 0


@given(steps, levels)
def test_past_the_end_of_the_steps_the_last_delay_repeats(ladder: Steps, level: int) -> None:
    end = len(ladder.delays_ms)
    assert ladder.delay_ms(end + level) == ladder.delays_ms[-1]
    assert [ladder.delay_ms(n) for n in range(1, end + 1)] == list(ladder.delays_ms)


@given(exponentials, st.integers(1, 10_000))
def test_an_exponential_doubles_up_to_its_cap(ladder: Exponential, level: int) -> None:
    assert ladder.delay_ms(1) == ladder.base_ms
    doubled = min(ladder.cap_ms, 2 * ladder.delay_ms(level))
    assert ladder.delay_ms(level + 1) == doubled


def test_an_exponential_of_a_large_level_is_its_cap() -> None:
    assert Exponential(retries=10**9, base_ms=1, cap_ms=5_000).delay_ms(10**9) == 5_000


@given(st.integers(0, 10**9), draws)
def test_jitter_stays_within_a_quarter(delay_ms: int, draw: float) -> None:
    jittered = jittered_ms(delay_ms, draw)
    assert 0.75 * delay_ms - 1 <= jittered <= 1.25 * delay_ms


@given(st.integers(1_000, 10**9))
def test_jitter_goes_both_ways_and_none_in_the_middle(delay_ms: int) -> None:
    assert jittered_ms(delay_ms, 0) == int(0.75 * delay_ms)
    assert jittered_ms(delay_ms, 0.5) == delay_ms
    assert jittered_ms(delay_ms, 0.999) > 1.24 * delay_ms


@given(ladders, st.integers(0, 99), levels)
def test_cut_or_lengthened_it_is_the_same_ladder(ladder: Ladder, retries: int, level: int) -> None:
    other = with_retries(ladder, retries)
    assert other.retries == retries
    assert other.delay_ms(level) == ladder.delay_ms(level)
    assert type(other) is type(ladder)


@given(ladders, st.integers(max_value=-1))
def test_fewer_than_no_retries_are_refused(ladder: Ladder, retries: int) -> None:
    with pytest.raises(BadInput, match="zero or more"):
        with_retries(ladder, retries)


def test_delays_that_are_no_tuple_are_refused_with_the_form_to_use() -> None:
    with pytest.raises(BadInput, match=r"delays_ms=4: give a tuple of milliseconds, as \(1000, 5"):
        check_ladder(Steps(2, 4))  # type: ignore[arg-type]
