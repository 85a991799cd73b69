"""The state table, and where messages go by hash."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.model.entities import HANDLER_SHARDS, ORDER_GROUPS, Policy, order_group_of, shard_of
from postroad.model.ids import IdSequence
from postroad.model.states import FINAL, LEGAL, State, is_legal
from tests.model.given_values import NOW_MS

OUT_OF_FINAL = {(State.dead, State.waiting), (State.dead, State.delivered)}
keys = st.text(min_size=1)
PLAIN, ORDERED = Policy(), Policy(ordered=True)


def test_every_state_is_in_the_table() -> None:
    assert set(LEGAL) == set(State)


@pytest.mark.parametrize(("old", "new"), sorted(product(FINAL, State)))
def test_only_replay_and_a_late_success_lead_out_of_a_final_state(old: State, new: State) -> None:
    assert is_legal(old, new) == ((old, new) in OUT_OF_FINAL)


@pytest.mark.parametrize("old", sorted(set(State) - FINAL))
def test_every_unfinished_message_can_be_cancelled_or_die(old: State) -> None:
    assert is_legal(old, State.cancelled)
    assert is_legal(old, State.dead)


@pytest.mark.parametrize("old", sorted(set(State) - {State.delivered, State.cancelled}))
def test_a_proven_success_counts_whenever_it_comes(old: State) -> None:
    # A lost lease puts a message back to `waiting` while its old owner's try still runs.
    assert is_legal(old, State.delivered)


@pytest.mark.parametrize("old", sorted(set(State) - {State.waiting}))
def test_only_what_waits_is_sent(old: State) -> None:
    assert not is_legal(old, State.sending)


def test_only_what_was_sent_is_uncertain() -> None:
    assert {old for old in State if is_legal(old, State.uncertain)} == {State.sending}


@pytest.mark.parametrize("state", State)
def test_staying_is_no_move(state: State) -> None:
    assert not is_legal(state, state)


@given(keys)
def test_an_order_key_has_one_order_group_of_sixty_four(key: str) -> None:
    assert order_group_of(PLAIN, key) == order_group_of(Policy(at_most_once=True), key)
    assert 1 <= order_group_of(PLAIN, key) <= ORDER_GROUPS == 64


def test_without_an_order_there_is_no_order_group() -> None:
    assert order_group_of(PLAIN, "") == 0


@given(st.text())
def test_a_queue_ordered_as_a_whole_has_one_order_group_and_one_lane(key: str) -> None:
    assert order_group_of(ORDERED, key) == 1
    assert shard_of(ORDERED, HANDLER_SHARDS, key, 12345) == 0


@given(keys, st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_an_order_key_always_has_the_same_lane(key: str, one: int, two: int) -> None:
    assert shard_of(PLAIN, 16, key, one) == shard_of(PLAIN, 16, key, two) in range(16)


def test_order_groups_and_shards_are_the_same_in_every_process_and_release() -> None:
    # Written down once: a message must find the order group that its predecessors went to.
    assert [order_group_of(PLAIN, key) for key in ("alice", "bob", "ünï")] == [8, 1, 43]
    assert [shard_of(PLAIN, 16, key, 1) for key in ("alice", "bob", "ünï")] == [7, 0, 10]


@given(st.integers(0, 2**63 - 1), st.sampled_from([1, 2, 16]))
def test_a_message_without_order_has_some_lane(number: int, shards: int) -> None:
    assert shard_of(PLAIN, shards, "", number) in range(shards)


@pytest.mark.parametrize("apart_ms", [0, 1, 2, 10, 1_000])
def test_messages_without_order_spread_over_all_lanes(apart_ms: int) -> None:
    # However seldom they come: else one process serves a handler alone.
    sequence = IdSequence(7)
    ids = [sequence.next(NOW_MS + number * apart_ms) for number in range(1_600)]
    shares = [0] * HANDLER_SHARDS
    for number in ids:
        shares[shard_of(PLAIN, HANDLER_SHARDS, "", number)] += 1
    assert min(shares) > 50
    assert max(shares) < 200
