"""Ids: ordered by time, the same in both spellings, and never given twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.model.errors import UnknownMessage
from postroad.model.ids import ALPHABET, EPOCH_MS, NODES, IdSequence, made_at_ms, to_number, to_text
from tests.model.given_values import NOW_MS

clock = st.lists(st.integers(NOW_MS - 10_000, NOW_MS + 10_000), min_size=2, max_size=50)
nodes = st.integers(0, 10**9)
numbers = st.integers(0, 2**63 - 1)


@given(nodes, clock)
def test_ids_only_rise_whatever_the_clock_does(node: int, times_ms: list[int]) -> None:
    sequence = IdSequence(node)
    made = [sequence.next(now_ms) for now_ms in times_ms]
    assert made == sorted(set(made))


@given(nodes, st.integers(2, 2_000))
def test_a_burst_in_one_millisecond_has_ids_for_all(node: int, count: int) -> None:
    sequence = IdSequence(node)
    assert len({sequence.next(NOW_MS) for _ in range(count)}) == count


@given(st.lists(nodes, min_size=2, max_size=9, unique_by=lambda node: node % NODES), clock)
def test_processes_never_give_the_same_id(owners: list[int], times_ms: list[int]) -> None:
    sequences = [IdSequence(owner) for owner in owners]
    made = [sequence.next(now_ms) for sequence in sequences for now_ms in times_ms]
    assert len(set(made)) == len(made)


@given(nodes, st.integers(EPOCH_MS, EPOCH_MS + 2**41 - 1))
def test_an_id_tells_when_it_was_made_and_fits_the_store(node: int, now_ms: int) -> None:
    number = IdSequence(node).next(now_ms)
    assert made_at_ms(number) == max(now_ms, EPOCH_MS)
    assert 0 < number < 2**63


@given(nodes, st.integers(0, EPOCH_MS))
def test_a_clock_before_our_time_still_gives_ids(node: int, now_ms: int) -> None:
    sequence = IdSequence(node)
    assert 0 < sequence.next(now_ms) < sequence.next(now_ms)


@given(numbers)
def test_a_text_is_the_same_id(number: int) -> None:
    assert to_number(to_text(number)) == number
    assert len(to_text(number)) == len("msg_0000000000000")


@given(numbers, numbers)
def test_texts_are_ordered_as_their_numbers(one: int, two: int) -> None:
    assert (one < two) == (to_text(one) < to_text(two))


@given(st.text())
def test_what_is_no_id_is_named(text: str) -> None:
    with pytest.raises(UnknownMessage, match="not a message id"):
        to_number(text)


@pytest.mark.parametrize("text", ["", "msg_", "msg_0", "msg_" + "0" * 12 + "u", "0" * 17])
def test_what_only_looks_like_an_id_is_named(text: str) -> None:
    with pytest.raises(UnknownMessage, match="ids look like msg_"):
        to_number(text)


@given(st.text(ALPHABET, min_size=13, max_size=13))
def test_every_id_that_is_understood_fits_the_store(digits: str) -> None:
    try:
        number = to_number(f"msg_{digits}")
    except UnknownMessage:
        return
    assert number < 2**63
    assert to_text(number) == f"msg_{digits}"
