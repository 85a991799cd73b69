"""The outcome table: what a try's outcome does to its message, queue and lane."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.model.block import (
    BACKOFFS,
    IN_PLACE,
    IN_PLACE_TRIES,
    Block,
    BlockKind,
    disabled,
    queue_block,
)
from postroad.model.circuit import CLOSED, Circuit, after_no_answer, held
from postroad.model.entities import Message, Policy, Rung
from postroad.model.ladder import jittered_ms
from postroad.model.outcome import Kind, Outcome
from postroad.model.recipients import recipient_in
from postroad.model.ruling import RuleAction
from postroad.model.states import DeadReason


class Move(StrEnum):
    """What becomes of a message."""

    deliver = "deliver"
    climb = "climb"
    wait = "wait"
    stay = "stay"
    behind = "behind"
    """The message moves behind the rung's other due messages and keeps its due time."""
    again = "again"
    hold = "hold"
    die = "die"
    cancel = "cancel"
    doubt = "doubt"


STAYS: Final = (Move.stay, Move.again)
"""Moves that leave a message where it was; it may be tried at once."""


class Next(Struct, frozen=True, gc=False):
    """One decision. `block` is the queue's block from now on, if it changes."""

    move: Move
    level: int
    due_ms: int = 0
    reason: DeadReason | None = None
    circuit: Circuit = CLOSED
    block: Block | None = None
    unblock: bool = False


class Situation(Struct, frozen=True, gc=False):
    """What a decision depends on besides the message and its outcome."""

    policy: Policy
    rung: Rung
    circuit: Circuit
    block: Block | None
    tries_here: int
    probe: bool
    started_ms: int
    now_ms: int
    draw: float


def decide(message: Message, outcome: Outcome, at: Situation) -> Next:
    """Apply the row of the outcome table for this outcome."""
    circuit = _circuit(outcome, at)
    unblock = outcome.answered and outcome.kind is not Kind.quota and _lifts(at)
    match outcome.kind:
        case Kind.delivered:
            return Next(Move.deliver, message.level, circuit=circuit, unblock=unblock)
        case Kind.rejected:
            block = disabled(outcome.error, at.now_ms) if outcome.disables else None
            return Next(
                Move.die,
                message.level,
                reason=DeadReason.rejected,
                circuit=circuit,
                block=block,
                unblock=unblock and block is None,
            )
        case Kind.failed:
            return _climb(message, at, circuit, unblock=unblock, after_ms=outcome.after_ms)
        case Kind.unknown:
            if at.policy.at_most_once:
                return Next(Move.doubt, message.level, circuit=circuit)
            return _climb(message, at, circuit, unblock=False)
        case Kind.later:
            due_ms = at.now_ms + outcome.after_ms
            if outcome.hold is not None:
                due_ms = outcome.hold.end_ms(at.now_ms)
            return Next(Move.wait, message.level, due_ms, circuit=circuit, unblock=unblock)
        case Kind.quota:
            return _quota(message, outcome, at, circuit)
        case Kind.unreachable:
            return _unreachable(message, outcome, at, circuit)


def only_delivers(outcome: Outcome, circuit: Circuit, block: Block | None) -> bool:
    """Whether `decide` would say `deliver` and change nothing else. That is nearly always so, and
    is checked first."""
    if outcome.kind is not Kind.delivered or block is not None:
        return False
    return not (circuit.strikes or circuit.opened)


def _lifts(at: Situation) -> bool:
    """Whether an answer lifts the block that its try was sent after. It does not lift one that came
    while it was in flight, a pause or a disabled queue."""
    if at.block is None or at.block.kind not in BACKOFFS:
        return False
    return at.started_ms >= at.block.until_ms


def _circuit(outcome: Outcome, at: Situation) -> Circuit:
    if outcome.kind in (Kind.unreachable, Kind.unknown):
        return after_no_answer(at.circuit, outcome.error, at.now_ms, at.draw, probe=at.probe)
    if at.circuit.is_held and at.now_ms < at.circuit.until_ms:
        return at.circuit  # it was in flight when the lane was held
    # A forbidden address is a failure that says nothing about the server.
    return CLOSED if outcome.answered else at.circuit


def _climb(
    message: Message, at: Situation, circuit: Circuit, *, unblock: bool, after_ms: int = 0
) -> Next:
    level = message.level + 1
    if level > at.policy.ladder.retries:
        if at.rung.ordered and not at.policy.skip_exhausted:
            return Next(Move.hold, message.level, circuit=circuit, unblock=unblock)
        reason = DeadReason.exhausted
        return Next(Move.die, message.level, reason=reason, circuit=circuit, unblock=unblock)
    due_ms = at.now_ms + (after_ms or jittered_ms(at.policy.ladder.delay_ms(level), at.draw))
    return Next(Move.climb, level, due_ms, circuit=circuit, unblock=unblock)


def _quota(message: Message, outcome: Outcome, at: Situation, circuit: Circuit) -> Next:
    ruling = outcome.ruling
    if ruling is not None and ruling.do is RuleAction.hold_lane:
        circuit = held(at.circuit, outcome.error, at.now_ms, ruling.lasts_ms)
        return Next(Move.stay, message.level, circuit=circuit)
    block = queue_block(at.block, outcome, at.now_ms, at.draw)
    if outcome.disables:
        block = disabled(outcome.error, at.now_ms)
    return Next(Move.stay, message.level, circuit=circuit, block=block)


def _unreachable(message: Message, outcome: Outcome, at: Situation, circuit: Circuit) -> Next:
    if circuit.is_open and at.probe and not at.rung.ordered:
        # It may be at fault, and not the server: the next probe is another message of its rung.
        return Next(Move.behind, message.level, at.now_ms, circuit=circuit)
    if circuit.is_open:
        return Next(Move.stay, message.level, circuit=circuit)
    if at.tries_here < IN_PLACE_TRIES:
        due_ms = at.now_ms + IN_PLACE.wait_ms(at.tries_here, at.draw)
        return Next(Move.again, message.level, due_ms, circuit=circuit)
    # Others of the lane got answers meanwhile, else the circuit would have opened: so it is
    # this recipient, not the server.
    if recipient_in(message.headers):  # its queue is others' too
        return _climb(message, at, circuit, unblock=False)
    block = queue_block(at.block, outcome, at.now_ms, at.draw)
    return Next(Move.stay, message.level, circuit=circuit, block=block)


def expired(message: Message, now_ms: int) -> bool:
    """Whether the message's own deadline has passed."""
    return message.expires_at_ms <= now_ms


def spell_expiry(block_kind: BlockKind) -> DeadReason:
    """Return why a message dies that outlived a spell of this kind."""
    if block_kind in (BlockKind.setup, BlockKind.rule, BlockKind.handler):
        return DeadReason.expired_held
    if block_kind is BlockKind.quota:
        return DeadReason.expired_quota
    return DeadReason.expired_unreachable
