"""The outcome table of the design, row by row: what each answer does to message, queue and lane."""

from typing import Final

import pytest
from msgspec import Struct
from msgspec.structs import replace

from postroad.model.block import Block, BlockKind, disabled
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.decide import Move, Next, Situation, decide
from postroad.model.entities import Message, Policy
from postroad.model.ladder import DEFAULT_LADDER, with_retries
from postroad.model.outcome import (
    DELIVERED,
    Outcome,
    failed,
    lacking,
    later,
    quota,
    rejected,
    unknown,
    unreachable,
)
from postroad.model.recipients import addressed
from postroad.model.states import DeadReason
from tests.model.given_values import NOW_MS, message, rung, situation

S, MIN, H = 1_000, 60_000, 3_600_000
FIRST, SECOND, LAST = message(0), message(1), message(6)
TO_ANN = replace(FIRST, headers=addressed("ann@example.com"))
HEALTHY = situation()
ORDERED = situation(rung=rung(ordered=True))
SKIPPING = situation(rung=rung(ordered=True), policy=Policy(skip_exhausted=True))
ONCE = situation(policy=Policy(at_most_once=True))
NO_RETRIES = situation(policy=Policy(ladder=with_retries(DEFAULT_LADDER, 0)))
STRUCK_TWICE = situation(circuit=Circuit(2, 0, 0, NOW_MS - 9, "refused"))
OPEN = Circuit(3, 1, NOW_MS, NOW_MS - 9, "refused")
PROBING = situation(circuit=OPEN, probe=True)
PROBING_IN_ORDER = situation(circuit=OPEN, probe=True, rung=rung(ordered=True))
IN_FLIGHT = situation(circuit=OPEN)
THIRD_TRY = situation(tries_here=3)
OVER_QUOTA = situation(
    block=Block(BlockKind.quota, NOW_MS - 20, "429", 1, NOW_MS - H), started_ms=NOW_MS - 10
)
AWAY = situation(block=Block(BlockKind.unreachable, NOW_MS - 20, "no", 1, NOW_MS - H))
BLOCKED_MEANWHILE = situation(block=Block(BlockKind.quota, NOW_MS + H, "429", 1, NOW_MS))
GONE = situation(block=disabled("410", NOW_MS - H))

DONE = Next(Move.deliver, 0)
DEAD = Next(Move.die, 0, reason=DeadReason.rejected)
DEAD_LATE = Next(Move.die, 6, reason=DeadReason.rejected)
SPENT = Next(Move.die, 6, reason=DeadReason.exhausted)
STRIKE_1 = Circuit(1, 0, 0, NOW_MS, "refused")
OPENED = Circuit(3, 1, NOW_MS + 2 * S, NOW_MS - 9, "refused")
OPENED_FURTHER = Circuit(4, 2, NOW_MS + 4 * S, NOW_MS - 9, "refused")
SILENT = unreachable("refused")
STALLED = unknown("refused")
LATER = later("busy", after_ms=9 * S)
SHORT = lacking("Too many open files")
A_LITTLE = NOW_MS + S


def blocked(kind: BlockKind, wait_ms: int, reason: str, streak: int = 1) -> Block:
    since_ms = NOW_MS if streak == 1 else NOW_MS - H
    return Block(kind, NOW_MS + wait_ms, reason, streak, since_ms)


class Row(Struct, frozen=True):
    """An outcome in a situation, and what it does. Draws are in the middle: no jitter."""

    name: str
    message: Message
    outcome: Outcome
    at: Situation
    after: Next


QUOTA_1 = blocked(BlockKind.quota, 180 * S, "429")
QUOTA_2 = blocked(BlockKind.quota, 270 * S, "429", 2)
AWAY_1 = blocked(BlockKind.unreachable, 30 * S, "refused")

TABLE: Final = [
    # Delivered: to history.
    Row("2xx", FIRST, DELIVERED, HEALTHY, DONE),
    Row("2xx to a probe", FIRST, DELIVERED, PROBING, DONE),
    Row("2xx after quota", FIRST, DELIVERED, OVER_QUOTA, Next(Move.deliver, 0, unblock=True)),
    Row("2xx sent before the block", FIRST, DELIVERED, BLOCKED_MEANWHILE, DONE),
    Row("2xx of a disabled queue", FIRST, DELIVERED, GONE, DONE),
    # Failed: to the next level; past the last one, dead.
    Row("500", FIRST, failed("500"), HEALTHY, Next(Move.climb, 1, NOW_MS + 1 * MIN)),
    Row("500 again", SECOND, failed("500"), HEALTHY, Next(Move.climb, 2, NOW_MS + 5 * MIN)),
    Row("500 once more", message(5), failed("500"), HEALTHY, Next(Move.climb, 6, NOW_MS + 2 * H)),
    Row("500 at last", LAST, failed("500"), HEALTHY, SPENT),
    Row("no retries", FIRST, failed("500"), NO_RETRIES, Next(Move.die, 0, reason=SPENT.reason)),
    Row("an ordered head", FIRST, failed("500"), ORDERED, Next(Move.climb, 1, NOW_MS + MIN)),
    Row("an exhausted head holds", LAST, failed("500"), ORDERED, Next(Move.hold, 6)),
    Row("an exhausted head is skipped", LAST, failed("500"), SKIPPING, SPENT),
    Row("500 to a probe", FIRST, failed("500"), PROBING, Next(Move.climb, 1, NOW_MS + MIN)),
    Row(
        "a forbidden address says nothing of the server",
        FIRST,
        failed("forbidden", answered=False),
        PROBING,
        Next(Move.climb, 1, NOW_MS + MIN, circuit=OPEN),
    ),
    # Rejected: dead at once; 410 also disables the queue.
    Row("a named status", FIRST, rejected("422"), HEALTHY, DEAD),
    Row("Reject at the last level", LAST, rejected("no"), HEALTHY, DEAD_LATE),
    Row("an ordered head rejected", FIRST, rejected("no"), ORDERED, DEAD),
    Row(
        "410",
        FIRST,
        rejected("410", disables=True),
        HEALTHY,
        Next(Move.die, 0, reason=DEAD.reason, block=disabled("410", NOW_MS)),
    ),
    Row(
        "410 after quota",
        FIRST,
        rejected("410", disables=True),
        OVER_QUOTA,
        Next(Move.die, 0, reason=DEAD.reason, block=disabled("410", NOW_MS)),
    ),
    # Quota: blocks the queue; no level spent.
    Row("429", FIRST, quota("429"), HEALTHY, Next(Move.stay, 0, block=QUOTA_1)),
    Row("429 again", SECOND, quota("429"), OVER_QUOTA, Next(Move.stay, 1, block=QUOTA_2)),
    Row(
        "429 with Retry-After",
        FIRST,
        quota("429", after_ms=H),
        HEALTHY,
        Next(Move.stay, 0, block=blocked(BlockKind.quota, H, "429")),
    ),
    Row("429 after absence", FIRST, quota("429"), AWAY, Next(Move.stay, 0, block=QUOTA_1)),
    Row("429 to a probe", FIRST, quota("429"), PROBING, Next(Move.stay, 0, block=QUOTA_1)),
    Row(
        "429 sent before the block",
        FIRST,
        quota("429"),
        BLOCKED_MEANWHILE,
        Next(Move.stay, 0, block=BLOCKED_MEANWHILE.block),
    ),
    # Unreachable: again in place, then the lane's circuit or the queue's block; no level spent.
    Row("refused", FIRST, SILENT, HEALTHY, Next(Move.again, 0, NOW_MS + 1 * S, circuit=STRIKE_1)),
    Row(
        "refused again",
        FIRST,
        SILENT,
        situation(tries_here=2),
        Next(Move.again, 0, NOW_MS + 2 * S, circuit=STRIKE_1),
    ),
    Row("the lane's third", FIRST, SILENT, STRUCK_TWICE, Next(Move.stay, 0, circuit=OPENED)),
    Row(
        "the message's third on a lane that answers",
        FIRST,
        SILENT,
        THIRD_TRY,
        Next(Move.stay, 0, circuit=STRIKE_1, block=AWAY_1),
    ),
    Row(
        "a probe",
        FIRST,
        SILENT,
        PROBING,
        Next(Move.behind, 0, NOW_MS, circuit=OPENED_FURTHER),
    ),
    Row(
        "a head as probe",
        FIRST,
        SILENT,
        PROBING_IN_ORDER,
        Next(Move.stay, 0, circuit=OPENED_FURTHER),
    ),
    Row(
        "one of many recipients of its queue",
        TO_ANN,
        SILENT,
        THIRD_TRY,
        Next(Move.climb, 1, NOW_MS + MIN, circuit=STRIKE_1),
    ),
    Row("in flight", FIRST, SILENT, IN_FLIGHT, Next(Move.stay, 0, circuit=OPEN)),
    Row("503 at the last level", LAST, SILENT, STRUCK_TWICE, Next(Move.stay, 6, circuit=OPENED)),
    Row("at most once", FIRST, SILENT, ONCE, Next(Move.again, 0, NOW_MS + S, circuit=STRIKE_1)),
    # Unknown: climbs, and counts for the circuit; where a second try is not allowed, uncertain.
    Row("a stall", FIRST, STALLED, HEALTHY, Next(Move.climb, 1, NOW_MS + MIN, circuit=STRIKE_1)),
    Row(
        "the lane's third stall",
        FIRST,
        STALLED,
        STRUCK_TWICE,
        Next(Move.climb, 1, NOW_MS + MIN, circuit=OPENED),
    ),
    Row(
        "a stall at last",
        LAST,
        STALLED,
        HEALTHY,
        Next(Move.die, 6, reason=SPENT.reason, circuit=STRIKE_1),
    ),
    Row("an exhausted head stalls", LAST, STALLED, ORDERED, Next(Move.hold, 6, circuit=STRIKE_1)),
    Row("a stall, at most once", FIRST, STALLED, ONCE, Next(Move.doubt, 0, circuit=STRIKE_1)),
    # Later: the message's own block; no level spent.
    Row("RetryLater", SECOND, LATER, HEALTHY, Next(Move.wait, 1, NOW_MS + 9 * S)),
    Row(
        "RetryLater after quota",
        FIRST,
        later("x", after_ms=0),
        OVER_QUOTA,
        Next(Move.wait, 0, NOW_MS, unblock=True),
    ),
    # Later, for want of something here: nobody is blamed, and nothing is known of the server.
    Row("a shortage", SECOND, SHORT, HEALTHY, Next(Move.wait, 1, A_LITTLE)),
    Row("a shortage, at most once", FIRST, SHORT, ONCE, Next(Move.wait, 0, A_LITTLE)),
    Row("a shortage at the last level", LAST, SHORT, ORDERED, Next(Move.wait, 6, A_LITTLE)),
    Row(
        "a shortage after two strikes",
        FIRST,
        SHORT,
        STRUCK_TWICE,
        Next(Move.wait, 0, A_LITTLE, circuit=STRUCK_TWICE.circuit),
    ),
    Row("a shortage of a probe", FIRST, SHORT, PROBING, Next(Move.wait, 0, A_LITTLE, circuit=OPEN)),
    Row("a shortage after quota", FIRST, SHORT, OVER_QUOTA, Next(Move.wait, 0, A_LITTLE)),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_the_outcome_table(row: Row) -> None:
    assert decide(row.message, row.outcome, row.at) == row.after


def test_names_of_rows_differ() -> None:
    assert len({row.name for row in TABLE}) == len(TABLE)


def test_a_closed_circuit_is_what_a_decision_leaves_unless_it_says_otherwise() -> None:
    assert DONE.circuit == CLOSED
