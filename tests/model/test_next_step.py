"""What comes next: when a try is exact, and when a message expires untried."""

import pytest
from msgspec.structs import replace

from postroad.model.block import Block, BlockKind
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.entities import DAY_MS, Policy, Queue
from postroad.model.explain import explain
from postroad.model.facts import LaneState, Live, MessageFacts, Owner
from postroad.model.next_step import NextKind, NextStep
from postroad.model.outcome import Kind
from postroad.model.states import NEVER
from postroad.model.tries import Try

NOW_MS = 1_800_000_000_000
OWNER = Owner(1, "host", 4711, NOW_MS - 5_000)
LANE = LaneState(1, "default", "webhook", "example.com", 0, CLOSED, 0, 0, OWNER)
LIVE = Live(1, 1, NOW_MS + 60_000, NEVER, uncertain=False, held="", before=0, others_due=0)
QUEUE = Queue(1, "default", "https://example.com/x", Policy(), (1,))
FAILED = Try(1, NOW_MS - 1_000, 0, Kind.failed, 500, 20, "500")
FACTS = MessageFacts(7, NOW_MS - 5_000, QUEUE, 0, (FAILED,), live=LIVE, lane=LANE)
QUOTA = Block(BlockKind.quota, NOW_MS + 10_000, "429", 1, NOW_MS - 1_000)


def coming(facts: MessageFacts) -> NextStep:
    return explain(facts, NOW_MS).next


def live(facts: MessageFacts, **changes: object) -> MessageFacts:
    return replace(facts, live=replace(LIVE, **changes))


def lane(facts: MessageFacts, **changes: object) -> MessageFacts:
    return replace(facts, lane=replace(LANE, **changes))


def queue(facts: MessageFacts, **changes: object) -> MessageFacts:
    return replace(facts, queue=replace(QUEUE, **changes))


def test_a_retry_that_nothing_is_in_the_way_of_is_exact() -> None:
    due_ms = LIVE.due_ms
    assert coming(FACTS) == NextStep(NextKind.attempt, coming(FACTS).why, due_ms, exact=True)
    assert coming(lane(FACTS, owner=None)).exact


NOT_EXACT = {
    "others are due": live(FACTS, others_due=1),
    "its lane lost a lease": lane(FACTS, crashes=1),
    "its owner is silent": lane(FACTS, owner=replace(OWNER, heard_at_ms=NOW_MS - 16_000)),
    "its server is away": lane(FACTS, circuit=Circuit(3, 1, NOW_MS + 9, NOW_MS, "refused")),
    "its queue is over quota": queue(FACTS, block=QUOTA),
    "its queue was, and one goes first": queue(FACTS, block=replace(QUOTA, until_ms=NOW_MS)),
    "another goes first": live(FACTS, before=6),
    "it is overdue": live(FACTS, due_ms=NOW_MS - 1_000),
    "it is tried in place": replace(
        live(FACTS, due_ms=NOW_MS), tries=(replace(FAILED, outcome=Kind.unreachable),)
    ),
}


@pytest.mark.parametrize("facts", NOT_EXACT.values(), ids=NOT_EXACT)
def test_a_try_is_not_exact_when(facts: MessageFacts) -> None:
    assert not coming(facts).exact


def test_of_all_blocks_the_latest_end_counts() -> None:
    late = replace(QUOTA, until_ms=NOW_MS + 90_000)
    assert coming(queue(FACTS, block=late)).not_before_ms == NOW_MS + 90_000
    assert coming(queue(FACTS, block=QUOTA)).not_before_ms == LIVE.due_ms


def test_a_probe_can_lift_the_block_of_an_unreachable_queue_before_its_end() -> None:
    away = Block(BlockKind.unreachable, NOW_MS + 900_000, "refused", 5, NOW_MS - 1_000)
    circuit = Circuit(3, 1, NOW_MS + 70_000, NOW_MS - 1_000, "refused")
    facts = lane(queue(FACTS, block=away), circuit=circuit)
    assert (coming(facts).what, coming(facts).not_before_ms) == (NextKind.probe, NOW_MS + 70_000)


def test_one_whose_deadline_comes_first_expires_then() -> None:
    facts = live(FACTS, expires_at_ms=NOW_MS + 60_000)
    assert (coming(facts).what, coming(facts).not_before_ms) == (NextKind.expire, NOW_MS + 60_000)
    assert coming(live(FACTS, expires_at_ms=NOW_MS + 60_001)).what is NextKind.attempt


def test_a_paused_one_expires_at_its_deadline_and_never_of_a_spell() -> None:
    old = replace(QUOTA, since_ms=NOW_MS - 8 * DAY_MS)
    held = queue(FACTS, paused=True, block=old)
    assert coming(held).what is NextKind.held
    ends = replace(held, live=replace(LIVE, expires_at_ms=NOW_MS + DAY_MS))
    assert (coming(ends).what, coming(ends).not_before_ms) == (NextKind.expire, NOW_MS + DAY_MS)


@pytest.mark.parametrize(("kind", "days"), [(BlockKind.quota, 7), (BlockKind.unreachable, 2)])
def test_one_that_outlives_a_spell_expires(kind: BlockKind, days: int) -> None:
    since_ms = NOW_MS - days * DAY_MS
    block = Block(kind, NOW_MS + 3 * 3_600_000, "", 9, since_ms)
    old = replace(live(queue(FACTS, block=block), due_ms=since_ms), accepted_at_ms=since_ms)
    assert coming(old).what is NextKind.expire
    # One that was accepted, or replayed, later still has time.
    assert coming(live(old, due_ms=NOW_MS)).what is NextKind.probe
