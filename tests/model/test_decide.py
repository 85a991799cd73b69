"""What holds of every decision, whatever the situation."""

from hypothesis import given
from hypothesis import strategies as st

from postroad.model.block import BlockKind, disabled
from postroad.model.circuit import CLOSED
from postroad.model.decide import (
    Move,
    Next,
    Situation,
    decide,
    expired,
    only_delivers,
    spell_expiry,
)
from postroad.model.entities import Message
from postroad.model.outcome import Kind, Outcome
from postroad.model.states import DeadReason
from tests.model.given_values import (
    NOW_MS,
    message,
    messages,
    outcomes,
    situation,
    situations,
)

SPENDS_NO_LEVEL = (Kind.quota, Kind.unreachable, Kind.later)


@given(messages, outcomes, situations)
def test_a_level_is_spent_on_failures_only(sent: Message, outcome: Outcome, at: Situation) -> None:
    after = decide(sent, outcome, at)
    climbs = after.move is Move.climb
    assert after.level == sent.level + climbs
    if outcome.kind in SPENDS_NO_LEVEL:
        assert after.move in (Move.stay, Move.behind, Move.again, Move.wait)


@given(messages, outcomes, situations)
def test_no_message_climbs_past_its_ladder(sent: Message, outcome: Outcome, at: Situation) -> None:
    after = decide(sent, outcome, at)
    if after.move is Move.climb:
        assert after.level <= at.policy.ladder.retries


@given(messages, outcomes, situations)
def test_a_failure_climbs_until_the_last_level(
    sent: Message, outcome: Outcome, at: Situation
) -> None:
    once = outcome.kind is Kind.unknown and at.policy.at_most_once
    if outcome.kind not in (Kind.failed, Kind.unknown) or once:
        return
    after = decide(sent, outcome, at)
    if sent.level < at.policy.ladder.retries:
        assert after.move is Move.climb
    elif at.rung.ordered and not at.policy.skip_exhausted:
        assert after.move is Move.hold
    else:
        assert (after.move, after.reason) == (Move.die, DeadReason.exhausted)


@given(messages, outcomes, situations)
def test_what_may_have_been_sent_is_never_repeated_where_that_is_not_allowed(
    sent: Message, outcome: Outcome, at: Situation
) -> None:
    doubt = outcome.kind is Kind.unknown and at.policy.at_most_once
    assert (decide(sent, outcome, at).move is Move.doubt) == doubt


@given(messages, outcomes, situations)
def test_only_a_delivered_message_is_delivered(
    sent: Message, outcome: Outcome, at: Situation
) -> None:
    delivered = outcome.kind is Kind.delivered
    assert (decide(sent, outcome, at).move is Move.deliver) == delivered


@given(messages, outcomes, situations)
def test_what_is_said_to_be_untroubled_delivers_and_changes_nothing_else(
    sent: Message, outcome: Outcome, at: Situation
) -> None:
    after = decide(sent, outcome, at)
    if only_delivers(outcome, at.circuit, at.block):
        assert after == Next(Move.deliver, sent.level, circuit=at.circuit)
    elif at.block is None and at.circuit == CLOSED:
        assert outcome.kind is not Kind.delivered


@given(messages, outcomes, situations)
def test_the_dead_have_a_reason_and_nobody_else(
    sent: Message, outcome: Outcome, at: Situation
) -> None:
    after = decide(sent, outcome, at)
    assert (after.reason is not None) == (after.move is Move.die)
    assert (after.reason is DeadReason.rejected) == (outcome.kind is Kind.rejected)


@given(messages, outcomes, situations)
def test_nothing_is_due_in_the_past(sent: Message, outcome: Outcome, at: Situation) -> None:
    after = decide(sent, outcome, at)
    if after.move in (Move.climb, Move.wait, Move.again):
        assert after.due_ms >= NOW_MS
    if after.move is Move.climb:
        delay_ms = at.policy.ladder.delay_ms(after.level)
        assert 0.75 * delay_ms - 1 <= after.due_ms - NOW_MS <= 1.25 * delay_ms
    if after.move is Move.wait:
        assert after.due_ms == NOW_MS + outcome.after_ms


@given(messages, outcomes, situations)
def test_a_block_is_set_by_quota_by_a_lonely_absence_or_by_410(
    sent: Message, outcome: Outcome, at: Situation
) -> None:
    after = decide(sent, outcome, at)
    third = outcome.kind is Kind.unreachable and at.tries_here >= 3 and not after.circuit.is_open
    gone = outcome.kind is Kind.rejected and outcome.disables
    assert (after.block is not None) == (outcome.kind is Kind.quota or third or gone)
    assert not (after.block is not None and after.unblock)


@given(messages, outcomes, situations)
def test_a_block_is_lifted_only_by_an_answer_to_what_was_sent_after_it(
    sent: Message, outcome: Outcome, at: Situation
) -> None:
    after = decide(sent, outcome, at)
    if after.unblock:
        assert at.block is not None
        assert at.started_ms >= at.block.until_ms
        assert outcome.answered
        assert outcome.kind is not Kind.quota


@given(messages, outcomes)
def test_nothing_enables_a_disabled_queue(sent: Message, outcome: Outcome) -> None:
    at = situation(block=disabled("410", NOW_MS - 9), tries_here=3)
    after = decide(sent, outcome, at)
    assert not after.unblock
    assert after.block is None or after.block.kind is BlockKind.disabled


@given(messages, outcomes, situations)
def test_the_circuit_changes_by_answers_and_silence_only(
    sent: Message, outcome: Outcome, at: Situation
) -> None:
    circuit = decide(sent, outcome, at).circuit
    if outcome.answered:
        assert circuit == CLOSED
    elif outcome.kind is Kind.failed:
        assert circuit == at.circuit
    else:
        assert circuit.strikes >= min(at.circuit.strikes, 3)
        assert circuit.opened in (at.circuit.opened, at.circuit.opened + 1)


@given(messages, situations)
def test_tries_in_place_end_and_give_way_to_an_open_circuit(sent: Message, at: Situation) -> None:
    after = decide(sent, Outcome(Kind.unreachable, answered=False), at)
    again = after.move is Move.again
    assert again == (at.tries_here < 3 and not after.circuit.is_open)


@given(st.integers(-5, 5))
def test_a_message_expires_at_its_deadline(early_ms: int) -> None:
    sent = message(expires_at_ms=NOW_MS + early_ms)
    assert expired(sent, NOW_MS) == (early_ms <= 0)
    assert not expired(message(), NOW_MS)


def test_a_spell_names_its_dead() -> None:
    assert spell_expiry(BlockKind.setup) is DeadReason.expired_held
    assert spell_expiry(BlockKind.quota) is DeadReason.expired_quota
    assert spell_expiry(BlockKind.unreachable) is DeadReason.expired_unreachable
