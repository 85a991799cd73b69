"""The states and their moves, counts and halts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.model.campaign import (
    JOB_MOVES,
    MOVES,
    STATUSES,
    CampaignState,
    Counts,
    HaltRule,
    JobState,
    Verb,
    WrongState,
    earlier,
    moved,
    must_halt,
)


def test_a_verb_is_taken_in_its_states_and_refused_by_name_in_others() -> None:
    for verb, (allowed, after) in MOVES.items():
        for state in CampaignState:
            if state in allowed:
                assert moved(state, verb, "c") is after
            else:
                with pytest.raises(WrongState, match=f"'c' is {state}: `{verb}`"):
                    moved(state, verb, "c")


def test_nothing_leaves_cancelled_and_a_stop_is_left_by_resume_retry_or_cancel_alone() -> None:
    leaves = {
        state: {v for v, (before, _) in MOVES.items() if state in before} for state in CampaignState
    }
    assert not leaves[CampaignState.cancelled]
    assert leaves[CampaignState.stopped] == {Verb.resume, Verb.retry, Verb.cancel}


def test_no_verb_revives_a_job_but_resume_and_retry() -> None:
    for verb, (before, after) in JOB_MOVES.items():
        assert (after is JobState.ready) == (verb in (Verb.resume, Verb.retry))
        assert JobState.logged not in before or verb in (Verb.resume, Verb.retry)


@pytest.mark.parametrize(
    ("failed", "undelivered", "sent", "halts"),
    [(10, 0, 0, False), (11, 0, 0, True), (11, 0, 98, True), (11, 0, 99, False), (0, 11, 50, True)],
)
def test_a_halt_needs_both_a_number_and_a_share(
    failed: int, undelivered: int, sent: int, halts: int
) -> None:
    counts = Counts(1000, 1000 - failed - sent, sent, failed, 0, undelivered)
    assert bool(must_halt(counts, HaltRule())) is bool(halts)


@given(st.sampled_from(list(STATUSES)), st.sampled_from(list(STATUSES)))
def test_of_two_statuses_at_most_one_replaces_the_other(one: str, other: str) -> None:
    assert not (one in earlier(other) and other in earlier(one))
    assert one not in earlier(one)
