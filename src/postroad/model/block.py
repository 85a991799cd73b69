"""Blocks: "not before T, because R", and how they grow."""

from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.ladder import MINUTE_MS, jittered_ms
from postroad.model.outcome import Kind, Outcome
from postroad.model.ruling import RuleAction
from postroad.model.states import NEVER


class BlockKind(StrEnum):
    """Why a queue or lane waits."""

    quota = "quota"
    unreachable = "unreachable"
    setup = "setup"
    """Something is missing on our side: a token, a transformation, a certificate."""
    rule = "rule"
    """An answer rule holds it."""
    handler = "handler"
    """The queue's handler holds it."""
    paused = "paused"
    disabled = "disabled"
    exhausted_head = "exhausted_head"


class Backoff(Struct, frozen=True):
    """A wait that grows by a factor, up to a cap."""

    first_ms: int
    factor: float
    cap_ms: int

    def wait_ms(self, streak: int, draw: float) -> int:
        """Return the jittered wait of the n-th block in a row (1 is the first)."""
        return jittered_ms(self.interval_ms(streak), draw)

    def interval_ms(self, streak: int) -> int:
        """Return the wait without jitter."""
        grown = self.first_ms * self.factor ** min(streak - 1, 60)
        return int(min(self.cap_ms, grown))


QUOTA: Final = Backoff(180_000, 1.5, 180 * MINUTE_MS)
SETUP: Final = Backoff(5_000, 2.0, 5 * MINUTE_MS)
"""Nobody else is asked for anything by such a try, and a token server or the next release of a
worker may bring what is missing at any time."""
UNREACHABLE_QUEUE: Final = Backoff(30_000, 1.5, 15 * MINUTE_MS)
UNREACHABLE_LANE: Final = Backoff(2_000, 2.0, 5 * MINUTE_MS)
BACKOFFS: Final = {
    BlockKind.quota: QUOTA,
    BlockKind.setup: SETUP,
    BlockKind.rule: QUOTA,
    BlockKind.handler: QUOTA,
    BlockKind.unreachable: UNREACHABLE_QUEUE,
}
"""The backoffs of blocks that a try makes and an answer lifts."""
IN_PLACE: Final = Backoff(1_000, 2.0, 10_000)
IN_PLACE_TRIES: Final = 3


class Block(Struct, frozen=True, gc=False):
    """A queue's block. `streak` counts those of this kind in a row; `since_ms` is when the unbroken
    spell began, from which expiry counts."""

    kind: BlockKind
    until_ms: int
    reason: str
    streak: int = 1
    since_ms: int = 0


def queue_block(old: Block | None, outcome: Outcome, now_ms: int, draw: float) -> Block:
    """Return the block after a quota answer (`Retry-After` is its floor), or after a message that
    could not reach its server while others could."""
    kind = _kind(outcome)
    backoff = BACKOFFS[kind]
    # Another kind starts its own spell: seed 000's origin reused the old interval here.
    same = old if old is not None and old.kind is kind else None
    asked_ms = outcome.hold.end_ms(now_ms) if outcome.hold else now_ms + outcome.after_ms
    if same is not None and same.until_ms > now_ms:
        # It was in flight when the queue was blocked: the block stands, and does not grow.
        return replace(same, until_ms=max(same.until_ms, asked_ms))
    if old is not None and old.kind is BlockKind.disabled:
        return old
    streak = same.streak + 1 if same else 1
    wait_ms = max(backoff.wait_ms(streak, draw), outcome.after_ms)
    if kind is BlockKind.rule and outcome.ruling is not None:
        wait_ms = outcome.ruling.lasts_ms
    if outcome.hold is not None:
        wait_ms = asked_ms - now_ms
    since_ms = same.since_ms if same else now_ms
    # The latest end counts, whichever kind it came from.
    until_ms = max(now_ms + wait_ms, old.until_ms if old else 0)
    return Block(kind, until_ms, outcome.error, streak, since_ms)


def _kind(outcome: Outcome) -> BlockKind:
    """Return who holds the queue: its recipient, a rule, its handler, or what is missing here."""
    if outcome.ruling is not None and outcome.ruling.do is RuleAction.hold_queue:
        return BlockKind.rule
    if outcome.kind is Kind.quota and outcome.hold is not None:
        return BlockKind.handler
    if outcome.lacks_setup:
        return BlockKind.setup
    return BlockKind(outcome.kind)


def disabled(reason: str, now_ms: int) -> Block:
    """Return the block of a queue whose recipient said that it is gone."""
    return Block(BlockKind.disabled, NEVER, reason, since_ms=now_ms)
