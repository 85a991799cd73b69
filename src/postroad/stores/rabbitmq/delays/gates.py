"""When a blocked message may go, and when it has waited too long. Pure functions."""

from typing import Final

from postroad.model.block import BACKOFFS, BlockKind
from postroad.model.decide import spell_expiry
from postroad.model.entities import Lane, Message, Queue
from postroad.model.states import NEVER, DeadReason

HOLD_MS: Final = 1_000
"""A message that may go this soon waits in memory; one that must wait longer goes back to the
broker."""


def queue_gate_ms(queue: Queue) -> int:
    """No message of the queue may go before this time."""
    if queue.paused:
        return NEVER
    return queue.block.until_ms if queue.block else 0


def lane_gate_ms(lane: Lane) -> int:
    """No message of the lane may go before this time."""
    return NEVER if lane.paused else lane.circuit.until_ms


def death(message: Message, queue: Queue, lane: Lane, now_ms: int) -> DeadReason | None:
    """Why a waiting message dies, or None: it has expired, or its queue or lane has been blocked
    for too long. Time while paused does not count."""
    if message.expires_at_ms <= now_ms:
        return DeadReason.expired
    if queue.paused or lane.paused:
        return None
    policy, block, circuit = queue.policy, queue.block, lane.circuit
    since_ms = max(message.accepted_at_ms, message.due_ms)
    if block is not None and block.kind in BACKOFFS:
        away = block.kind is BlockKind.unreachable
        ttl_ms = policy.unreachable_ttl_ms if away else policy.quota_ttl_ms
        if max(since_ms, block.since_ms) + ttl_ms <= now_ms:
            return spell_expiry(block.kind)
    if circuit.is_open and max(since_ms, circuit.since_ms) + policy.unreachable_ttl_ms <= now_ms:
        return DeadReason.expired_unreachable
    return None


def gate_ms(message: Message, queue: Queue, lane: Lane) -> int:
    """When to look at a blocked message again: its block ends, or it expires."""
    return min(max(queue_gate_ms(queue), lane_gate_ms(lane)), message.expires_at_ms)
