"""The circuit: three strikes open it, one probe an interval decides, any answer closes it."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.model.circuit import (
    CLOSED,
    EARLY_LEAST_MS,
    Circuit,
    after_no_answer,
    early_ms,
    held,
    obeyed,
)
from postroad.model.decide import decide
from postroad.model.outcome import Outcome
from tests.model.given_values import (
    NOW_MS,
    answers,
    circuits,
    draws,
    message,
    open_circuits,
    silences,
    situation,
)

SECOND_MS = 1_000
CAP_MS = 300 * SECOND_MS


def strike(circuit: Circuit, *, probe: bool = False, draw: float = 0.5) -> Circuit:
    return after_no_answer(circuit, "refused", NOW_MS, draw, probe=probe)


def due(circuit: Circuit) -> Circuit:
    """The same, whose interval is over."""
    return replace(circuit, until_ms=min(circuit.until_ms, NOW_MS))


@given(draws)
def test_three_in_a_row_open_it_and_two_do_not(draw: float) -> None:
    one = strike(CLOSED, draw=draw)
    two = strike(one, draw=draw)
    three = strike(two, draw=draw)
    assert (one.is_open, two.is_open, three.is_open) == (False, False, True)
    assert 1.5 * SECOND_MS <= three.until_ms - NOW_MS <= 2.5 * SECOND_MS
    assert (three.since_ms, three.reason) == (NOW_MS, "refused")


def test_the_spell_began_with_the_first_strike() -> None:
    one = after_no_answer(CLOSED, "refused", NOW_MS - 5_000, 0.5, probe=False)
    three = strike(strike(one))
    assert three.since_ms == NOW_MS - 5_000


@given(st.lists(silences | answers, max_size=30))
def test_it_opens_when_the_last_three_had_no_answer_and_not_before(seen: list[Outcome]) -> None:
    circuit, row = CLOSED, 0
    for outcome in seen:
        circuit = decide(message(), outcome, situation(circuit=circuit)).circuit
        row = 0 if outcome.answered else row + 1
        assert circuit.is_open == (row >= 3)


@given(open_circuits, draws)
def test_what_was_in_flight_does_not_open_it_further(circuit: Circuit, draw: float) -> None:
    assert strike(circuit, draw=draw) == circuit


@given(open_circuits, draws)
def test_a_failed_probe_opens_it_further(circuit: Circuit, draw: float) -> None:
    again = strike(due(circuit), probe=True, draw=draw)
    assert again.opened == circuit.opened + 1
    assert again.since_ms == circuit.since_ms
    assert again.until_ms > NOW_MS


def test_the_interval_doubles_up_to_five_minutes() -> None:
    circuit = strike(strike(strike(CLOSED)))
    waits = [circuit.until_ms - NOW_MS]
    for _ in range(12):
        circuit = strike(due(circuit), probe=True)
        waits.append(circuit.until_ms - NOW_MS)
    assert waits[:8] == [n * SECOND_MS for n in (2, 4, 8, 16, 32, 64, 128, 256)]
    assert set(waits[8:]) == {CAP_MS}


@given(open_circuits, draws)
def test_no_interval_is_past_its_cap_and_jitter(circuit: Circuit, draw: float) -> None:
    wait_ms = strike(due(circuit), probe=True, draw=draw).until_ms - NOW_MS
    assert 1.5 * SECOND_MS <= wait_ms <= 1.25 * CAP_MS


@given(circuits, answers)
def test_any_answer_closes_it(circuit: Circuit, outcome: Outcome) -> None:
    for probe in (False, True):
        after = decide(message(), outcome, situation(circuit=circuit, probe=probe))
        assert after.circuit == CLOSED


@given(open_circuits, silences)
def test_no_answer_never_closes_it(circuit: Circuit, outcome: Outcome) -> None:
    for probe in (False, True):
        assert decide(message(), outcome, situation(circuit=circuit, probe=probe)).circuit.is_open


@given(open_circuits, draws)
def test_an_early_probe_that_fails_does_not_lengthen_the_interval(
    circuit: Circuit, draw: float
) -> None:
    circuit = replace(circuit, until_ms=NOW_MS + 60_000)
    again = strike(circuit, probe=True, draw=draw)
    assert (again.opened, again.until_ms) == (circuit.opened, circuit.until_ms)
    close = strike(replace(circuit, until_ms=NOW_MS + 1), probe=True, draw=draw)
    assert close.until_ms == NOW_MS + EARLY_LEAST_MS


@given(draws)
def test_new_traffic_has_a_probe_after_a_quarter_of_the_interval_and_at_least_two_seconds(
    draw: float,
) -> None:
    circuit = strike(strike(strike(CLOSED)), draw=draw)
    for seconds in (2, 2, 2, 4, 8, 16, 32, 64, 75, 75):
        early_s = (early_ms(circuit, NOW_MS) - NOW_MS) / 1000
        assert early_s == min(seconds, (circuit.until_ms - NOW_MS) / 1000)
        circuit = strike(due(circuit), probe=True, draw=draw)


@given(circuits)
def test_an_owner_obeys_who_closes_its_circuit_or_holds_its_lane_for_longer(own: Circuit) -> None:
    assert obeyed(own, CLOSED) == (CLOSED if own.is_open else own)
    longer = held(own, "told so", own.until_ms + NOW_MS, SECOND_MS)
    assert obeyed(own, longer) is longer
    away = Circuit(3, 1, own.until_ms + NOW_MS, NOW_MS, "away")
    assert obeyed(own, away) is own  # its owner knows better
