"""The slot ledger with the real pacer and store, in simulated time, beside what others do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.pacing import pacer
from postroad.pacing.store_time import StoreTime
from tests.pacing.worlds import Scenario, by_fixed_window, by_ledger, by_tokens, run

SEEDS = range(6)

scenarios = st.builds(
    Scenario,
    seed=st.integers(0, 1 << 30),
    rate=st.sampled_from(["50/s", "5/s", "200/s", "100/10s", "20/s,60/10s"]),
    processes=st.integers(1, 5),
    seconds=st.just(8.0),
    answer_s=st.sampled_from([0.001, 0.02, 0.15]),
    stalls=st.booleans(),
    crashes=st.booleans(),
)


@settings(max_examples=40, deadline=None)
@given(scenario=scenarios)
def test_the_ledger_never_exceeds_in_any_window(scenario: Scenario) -> None:
    broken, _ = run(scenario, by_ledger)
    assert broken == []


def test_in_the_same_lives_a_token_bucket_and_a_fixed_window_exceed() -> None:
    broken = {
        limiter.__name__: [run(Scenario(seed), limiter)[0] for seed in SEEDS]
        for limiter in (by_ledger, by_tokens, by_fixed_window)
    }
    assert broken["by_ledger"] == [[] for _ in SEEDS]
    assert any("that allows 50" in b for one in broken["by_tokens"] for b in one), broken
    assert any("that allows 50" in b for one in broken["by_fixed_window"] for b in one), broken


def test_undisturbed_processes_reach_nine_tenths_of_what_is_allowed() -> None:
    calm = Scenario(1, seconds=30.0, answer_s=0.003, stalls=False, crashes=False)
    broken, starts = run(calm, by_ledger)
    assert broken == []
    assert starts >= 0.9 * 50 * 30


def test_without_the_grace_the_breach_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacer, "GRACE_S", 10.0)
    found = [breach for seed in SEEDS for breach in run(Scenario(seed), by_ledger)[0]]
    assert any("in a stretch of 1 s that allows 50" in breach for breach in found), found


def test_with_slots_carried_over_from_a_late_answer_the_breach_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counting from each answer's arrival alone shifts the block of a slow one into the next."""

    class Forgetful(StoreTime):
        def learn(self, now_us: int, sent_s: float, arrived_s: float) -> bool:
            super().__init__()
            return super().learn(now_us, sent_s, arrived_s)

    monkeypatch.setattr(pacer, "StoreTime", Forgetful)
    monkeypatch.setattr(pacer, "DOUBT_S", 10.0)
    lives = [Scenario(seed, answer_s=0.05) for seed in SEEDS]
    found = [breach for life in lives for breach in run(life, by_ledger)[0]]
    assert any("in a stretch of 1 s that allows 50" in breach for breach in found), found
