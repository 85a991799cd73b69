"""Reservations as a pure function: whatever is asked, no stretch of time at the provider's door
holds more than is allowed, although every start may come late by grace and spread."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.model.errors import BadInput
from postroad.model.pace import (
    LATE_US,
    Ask,
    Ledger,
    Limit,
    Share,
    read_limit,
    reserve,
    spacing_us,
)
from tests.pacing.windows import breaches

RATES = ("50/s", "3/s", "7/s,90/min", "100/10s", "400/min,600/h", "30/h,100/d", "1/s,1/h")


def ledger_of(limit: Limit, late_us: int = LATE_US) -> Ledger:
    spaced = spacing_us(limit.windows, limit.cost, late_us)
    return Ledger(1, limit.cost, spaced, limit.counted, 0, {})


def lives(limit: Limit, ledger: Ledger, seed: int, asks: int = 300) -> list[tuple[float, int]]:
    """Several who ask at random; answers when starts come to the door, and what each costs."""
    rng = random.Random(seed)
    now_us, shares, starts = 1_767_225_600_000_000, dict[str, Share](), list[tuple[float, int]]()
    for _ in range(asks):
        cost = rng.randint(1, limit.cost)
        ask = Ask((1,), rng.choice("abc"), rng.choice([1, 5, 60]), cost)
        grant = reserve(ask, [ledger], shares, now_us)
        starts += [
            (at + rng.choice([0, LATE_US, rng.uniform(0, LATE_US)]), cost) for at in grant.at_us
        ]
        steps = [0, 1_000, 200_000, max(0, grant.again_us - now_us)]
        now_us += rng.choice([*steps, rng.choice([1_000_000, 60_000_000, 1_800_000_000])])
    return starts


@settings(max_examples=150, deadline=None)
@given(
    rate=st.sampled_from(RATES), cost=st.sampled_from([1, 1, 2, 3]), seed=st.integers(0, 1 << 30)
)
def test_no_window_is_ever_exceeded(rate: str, cost: int, seed: int) -> None:
    cost = min([cost, *(window.most for window in read_limit(rate).windows)])
    limit = read_limit(rate, cost)
    assert breaches(limit, lives(limit, ledger_of(limit), seed)) == []


def test_without_grace_and_spread_in_the_spacing_the_breach_is_named() -> None:
    limit = read_limit("50/s")
    found = [breaches(limit, lives(limit, ledger_of(limit, 0), seed)) for seed in range(20)]
    named = [breach for one in found for breach in one]
    assert any("in a stretch of 1 s that allows 50" in breach for breach in named), named


def test_without_room_for_the_last_starts_cost_the_breach_is_named() -> None:
    limit = read_limit("5/s", 3)
    wrong = Ledger(1, 3, spacing_us(limit.windows, 1, LATE_US), (), 0, {})
    found = [breaches(limit, lives(limit, wrong, seed)) for seed in range(20)]
    assert any("that allows 5" in breach for one in found for breach in one), found


@pytest.mark.parametrize(("rate", "share"), [("50/s", 0.92), ("600/min,20000/h", 0.95)])
def test_one_who_always_asks_gets_nine_tenths_of_what_is_allowed(rate: str, share: float) -> None:
    limit = read_limit(rate)
    ledger, shares, start_us, taken = ledger_of(limit), dict[str, Share](), 10**15, 0
    now_us, seconds = start_us, 7_200
    while now_us < start_us + seconds * 1_000_000:
        grant = reserve(Ask((1,), "a", 1_000), [ledger], shares, now_us)
        taken += len(grant.at_us)
        now_us = max(now_us + 1_000, grant.again_us)
    allowed = min(w.most * seconds * 1_000_000 / w.length_us for w in limit.windows)
    assert taken >= share * allowed


def test_three_who_always_ask_get_the_same() -> None:
    limit = read_limit("50/s")
    ledger, shares, now_us = ledger_of(limit), dict[str, Share](), 10**15
    taken, again = dict.fromkeys("abc", 0), dict.fromkeys("abc", now_us)
    wants = {"a": 50, "b": 3, "c": 50}
    while now_us < 10**15 + 60_000_000:
        for name in sorted(again, key=lambda name: again[name]):
            if again[name] <= now_us:
                grant = reserve(Ask((1,), name, wants[name]), [ledger], shares, now_us)
                taken[name] += len(grant.at_us)
                again[name] = max(now_us + 1_000, grant.again_us)
        now_us += 1_000
    assert max(taken.values()) - min(taken.values()) < 60, taken
    assert sum(taken.values()) >= 0.9 * 50 * 60


def test_slots_of_a_shared_ledger_are_not_passed_over_for_a_slow_one() -> None:
    """A queue of 5/s beside another one on a credential of 50/s, which is used to the full."""
    shared, own = ledger_of(read_limit("50/s")), ledger_of(read_limit("5/s"))
    shares, now_us, taken = dict[str, Share](), 10**15, {"slow": 0, "other": 0}
    again = dict.fromkeys(taken, now_us)
    while now_us < 10**15 + 60_000_000:
        for name, ledgers in (("slow", [shared, own]), ("other", [shared])):
            if again[name] <= now_us:
                grant = reserve(Ask((1,), name, 12), ledgers, shares, now_us)
                taken[name] += len(grant.at_us)
                again[name] = max(now_us + 1_000, grant.again_us)
        now_us += 1_000
    assert taken["slow"] >= 0.7 * 5 * 60, taken
    assert sum(taken.values()) >= 0.9 * 50 * 60, taken


@pytest.mark.parametrize(
    ("rate", "cost", "why"),
    [
        ("", 1, "write it as 50/s"),
        ("50", 1, "write it as 50/s"),
        ("fast", 1, "write it as 50/s"),
        ("-1/s", 1, "write it as 50/s"),
        ("1.5/s", 1, "write it as 50/s"),
        ("50/s,", 1, "write it as 50/s"),
        ("0/s", 1, "to stop a queue, pause it"),
        ("50/0s", 1, "between a second and 31 days"),
        ("50/32d", 1, "between a second and 31 days"),
        ("2/s", 3, "every window has to allow at least one start"),
        ("50/s", 0, "costs at least 1"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_with_the_reason(
    rate: str, cost: int, why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        read_limit(rate, cost)
