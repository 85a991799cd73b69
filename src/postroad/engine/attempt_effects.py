"""AttemptEffects: what one try changes, for the store to record."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.block import Block
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.decide import Move, Next
from postroad.model.entities import Lane, Message, Policy, Rung
from postroad.model.outcome import Outcome, unknown
from postroad.model.record import LaneChange, QueueChange, Result, Retention
from postroad.model.states import DeadReason

LOST_LEASES_MAX: Final = 3
"""A message that was started in so many lost leases is dead: it kills its process."""


class AttemptTimes(Struct, frozen=True, gc=False):
    """When a try started and how long it took."""

    started_ms: int = 0
    took_ms: int = 0


class AttemptEffects(Struct, frozen=True, gc=False):
    """The result of a try, and the changes of its queue's block and its lane's circuit, each with
    what it was before."""

    result: Result
    queue: QueueChange | None = None
    lane: LaneChange | None = None
    old_block: Block | None = None
    old_circuit: Circuit = CLOSED


def result_of(
    lane: Lane,
    rung: Rung,
    message: Message,
    outcome: Outcome,
    after: Next,
    times: AttemptTimes,
) -> Result:
    """The result of a try and the decision on it, as it is recorded."""
    return Result(
        message=message,
        epoch=lane.epoch,
        kind=outcome.kind,
        move=after.move,
        level=after.level,
        due_ms=after.due_ms,
        reason=after.reason,
        error=outcome.error,
        status=outcome.status,
        started_ms=times.started_ms,
        took_ms=times.took_ms,
        order_group=rung.order_group,
        priority=rung.priority,
        details=outcome.details,
    )


def with_kept(result: Result, policy: Policy, outcome: Outcome, road_ms: int) -> Result:
    """The result, with what is kept of it; `road_ms` is how long the road keeps bodies."""
    delivered = result.move is Move.deliver
    body_ms = (policy.keep_bodies_ms or road_ms) if delivered else 0
    if not body_ms and not policy.result_ttl_ms:
        return result
    return replace(result, keep=Retention(body_ms, policy.result_ttl_ms, outcome.result))


def crash_suspect(lane: Lane, rung: Rung, message: Message, *, once: bool) -> AttemptEffects:
    """The end of a message that was started in lost leases: too often, or once is too often."""
    if once:
        return _uncertain(
            lane, rung, message, "the process died between sending this and its record"
        )
    why = unknown(f"started in {LOST_LEASES_MAX} lost leases: it kills its process")
    after = Next(Move.die, message.level, reason=DeadReason.crash_loop)
    return AttemptEffects(result_of(lane, rung, message, why, after, AttemptTimes()))


def interrupted(lane: Lane, rung: Rung, message: Message) -> AttemptEffects:
    """A try that was stopped from our side where a second one is not allowed."""
    return _uncertain(lane, rung, message, "stopped between sending this and its answer")


def cancelled(lane: Lane, rung: Rung, message: Message, started_ms: int) -> AttemptEffects:
    """A try that was stopped from our side, or (0) never started, of a message that was to be
    cancelled."""
    why = unknown("stopped between sending this and its answer")
    after = Next(Move.cancel, message.level)
    return AttemptEffects(result_of(lane, rung, message, why, after, AttemptTimes(started_ms)))


def _uncertain(lane: Lane, rung: Rung, message: Message, why: str) -> AttemptEffects:
    after = Next(Move.doubt, message.level)
    return AttemptEffects(result_of(lane, rung, message, unknown(why), after, AttemptTimes()))
