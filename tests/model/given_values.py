"""What property tests draw from."""

from typing import Final

from hypothesis import strategies as st

from postroad.model.block import Block, BlockKind
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.decide import Situation
from postroad.model.entities import Message, Policy, Rung
from postroad.model.ladder import Exponential, Ladder, Steps
from postroad.model.outcome import (
    DELIVERED,
    Outcome,
    failed,
    later,
    quota,
    rejected,
    unknown,
    unreachable,
)
from postroad.model.states import NEVER

NOW_MS: Final = 1_767_225_600_000
HOUR_MS: Final = 3_600_000

draws = st.floats(0, 1, exclude_max=True)
times = st.integers(NOW_MS - 1000 * HOUR_MS, NOW_MS + 1000 * HOUR_MS)
waits = st.integers(0, 100 * HOUR_MS)
levels = st.integers(0, 50)

steps = st.builds(
    Steps,
    retries=st.integers(0, 50),
    delays_ms=st.lists(st.integers(1, 10 * HOUR_MS), min_size=1, max_size=9).map(tuple),
)
exponentials = st.builds(
    Exponential,
    retries=st.integers(0, 50),
    base_ms=st.integers(1, HOUR_MS),
    cap_ms=st.integers(HOUR_MS, 48 * HOUR_MS),
)
ladders: st.SearchStrategy[Ladder] = steps | exponentials

policies = st.builds(
    Policy,
    ladder=ladders,
    ordered=st.booleans(),
    skip_exhausted=st.booleans(),
    at_most_once=st.booleans(),
)

lifted_kinds = st.sampled_from([BlockKind.quota, BlockKind.unreachable])
blocks = st.builds(
    Block,
    kind=lifted_kinds,
    until_ms=times,
    reason=st.just("before"),
    streak=st.integers(1, 99),
    since_ms=times,
)

open_circuits = st.builds(
    Circuit,
    strikes=st.integers(3, 99),
    opened=st.integers(1, 99),
    until_ms=times,
    since_ms=times,
    reason=st.just("before"),
)
striking_circuits = st.builds(Circuit, strikes=st.integers(1, 2), since_ms=times)
circuits = st.just(CLOSED) | striking_circuits | open_circuits

answers: st.SearchStrategy[Outcome] = st.one_of(
    st.just(DELIVERED),
    st.builds(failed, st.just("500")),
    st.builds(rejected, st.just("410"), disables=st.booleans()),
    st.builds(quota, st.just("429"), after_ms=waits),
    st.builds(later, st.just("busy"), after_ms=waits),
)
silences: st.SearchStrategy[Outcome] = st.sampled_from(
    [unreachable("refused"), unreachable("503", status=503), unknown("stalled")]
)
outcomes = answers | silences | st.just(failed("forbidden address", answered=False))


def message(level: int = 0, *, expires_at_ms: int = NEVER) -> Message:
    return Message(
        id=1,
        rung=1,
        queue=1,
        lane=1,
        level=level,
        attempts=level,
        marks=0,
        place=NOW_MS,
        due_ms=NOW_MS,
        accepted_at_ms=NOW_MS,
        expires_at_ms=expires_at_ms,
        body=b"",
    )


def rung(*, ordered: bool = False) -> Rung:
    return Rung(id=1, lane=1, queue=1, level=0, order_group=1 if ordered else 0)


def situation(**changes: object) -> Situation:
    """A first try on a healthy lane."""
    usual: dict[str, object] = {
        "policy": Policy(),
        "rung": rung(),
        "circuit": CLOSED,
        "block": None,
        "tries_here": 1,
        "probe": False,
        "started_ms": NOW_MS - 10,
        "now_ms": NOW_MS,
        "draw": 0.5,
    }
    return Situation(**(usual | changes))  # type: ignore[arg-type]


situations = st.builds(
    Situation,
    policy=policies,
    rung=st.booleans().map(lambda ordered: rung(ordered=ordered)),
    circuit=circuits,
    block=st.none() | blocks,
    tries_here=st.integers(1, 4),
    probe=st.booleans(),
    started_ms=times,
    now_ms=st.just(NOW_MS),
    draw=draws,
)
messages = levels.map(message)
