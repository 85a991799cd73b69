"""Delays: less than a unit early, at most a sixteenth and a moment late, few hops."""

from hypothesis import given
from hypothesis import strategies as st

from postroad.stores.rabbitmq.delays.delay_queues import (
    BITS,
    LEVELS,
    SNAP_MS,
    UNIT_MS,
    UNITS_MAX,
    key,
    walk,
    walk_within,
)
from postroad.stores.rabbitmq.delays.gates import HOLD_MS

LONGEST_MS = UNITS_MAX * UNIT_MS
waits = st.integers(min_value=1, max_value=LONGEST_MS)


def walked_ms(hops: tuple[int, ...]) -> int:
    """The time that these delay queues take."""
    return sum(UNIT_MS << hop for hop in hops)


@given(waits)
def test_a_walk_is_less_than_a_unit_early_and_at_most_a_sixteenth_late(wait_ms: int) -> None:
    late_ms = walked_ms(walk(wait_ms)) - wait_ms
    assert SNAP_MS - UNIT_MS <= late_ms <= wait_ms / 16 + SNAP_MS
    assert UNIT_MS <= HOLD_MS  # what is early waits in memory, and makes no second walk


@given(waits)
def test_a_walk_has_few_hops_the_longest_first(wait_ms: int) -> None:
    hops = walk(wait_ms)
    assert (wait_ms >= UNIT_MS) <= len(hops) <= BITS
    assert list(hops) == sorted(set(hops), reverse=True)
    assert all(0 <= hop < LEVELS for hop in hops)


@given(st.integers(min_value=0, max_value=LEVELS - 1))
def test_a_power_of_two_takes_one_hop_and_is_exact(level: int) -> None:
    assert walk(UNIT_MS << level) == walk((UNIT_MS << level) - SNAP_MS) == (level,)


@given(st.integers(min_value=0, max_value=2 * LONGEST_MS))
def test_a_walk_within_a_wait_never_passes_it_and_leaves_little(wait_ms: int) -> None:
    walked = walked_ms(walk_within(wait_ms))
    assert walked <= wait_ms
    rest_ms = min(wait_ms, LONGEST_MS) - walked
    assert rest_ms < wait_ms / 16 + UNIT_MS


def test_no_wait_is_no_walk() -> None:
    assert walk(0) == walk(-5) == walk(UNIT_MS - SNAP_MS - 1) == walk_within(UNIT_MS - 1) == ()


def test_what_is_longer_than_the_longest_walk_goes_that_far() -> None:
    assert walked_ms(walk(10 * LONGEST_MS)) == LONGEST_MS


def test_the_key_names_each_hop_and_the_target() -> None:
    assert key((12, 9), "shard.3") == "d12.d9.to.shard.3"
