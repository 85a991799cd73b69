"""Batches: messages whose ends are counted together, and what is sent when all have ended."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.model.entities import Draft
from postroad.model.errors import BadInput, PostroadError
from postroad.model.ids import read_id, to_digits
from postroad.model.wording import duration_text

PREFIX: Final = "bat_"
HEADER: Final = "postroad-batch"
"""The header of a member: the id of its batch."""
MARK: Final = b'"postroad-batch":'
"""The same in JSON: found in the headers of few messages, and looked for in those of all."""
MEMBERS_MAX: Final = 1_000_000
FOLLOWERS_MAX: Final = 2_000
"""Messages that wait for the ends of a batch and of those nested in it."""
NESTED_MAX: Final = 5_000
"""Batches in one, itself included: a chain is as many as it has steps."""
DEPTH_MAX: Final = 100
"""Batches within batches, and steps of a chain."""
FILLING_MS: Final = 3_600_000
"""After so long a batch whose sender has ended half-way is given up. A million messages in that
time are 280 a second."""


class UnknownBatch(BadInput):
    """No batch of that id is known. Check the id and its tenant: see `postroad batches list`. After
    the time of history an ended one is forgotten."""


class BatchGivenUp(PostroadError):
    """Storing the batch took more than an hour, and it was given up meanwhile: what is stored is
    sent, and nothing follows. Send what is missing as several batches."""


class CyclicBatch(BadInput):
    """A batch contains itself, or batches are nested too deep; nothing was stored. Make a batch of
    its own for each place."""


class FollowRole(StrEnum):
    """When a message that follows a batch is sent."""

    then = "then"
    """All members have ended, and `on_failure` is not for it."""
    on_failure = "on_failure"
    """All have ended, and some were not delivered."""


class BatchState(StrEnum):
    """How a batch stands."""

    filling = "filling"
    """The batch's members are being stored."""
    waiting = "waiting"
    """The batch follows another one that has not ended."""
    open = "open"
    ended = "ended"
    skipped = "skipped"
    """Never sent: the batch before it ended with the other result, or its sender ended before all
    was stored."""


class BatchRow(Struct, frozen=True):
    """A batch as it is stored. `parent` is the batch that counts it as a member, `after` the one
    whose end releases it; `then` and `on_failure` are the message or batch that follows. 0 is none.
    `stops`: without an `on_failure`, nothing follows a failure."""

    id: int
    tenant: str
    parent: int
    after: int
    role: str
    state: BatchState
    total: int
    then: int
    on_failure: int
    stops: bool
    made_at_ms: int


class HeldDraft(Struct, frozen=True):
    """A message that is stored when a batch ends; due so long after, if not later."""

    batch: int
    role: FollowRole
    draft: Draft
    delay_ms: int


class BatchPlan(Struct, frozen=True):
    """What a new batch stores: itself and those nested in it, the messages that are sent now, who
    is a member of what (message or batch, batch), and what follows."""

    rows: Sequence[BatchRow]
    drafts: Sequence[Draft]
    members: Sequence[tuple[int, int]]
    held: Sequence[HeldDraft]
    queues: Sequence[int] = ()
    """Queues of what is stored later. If one of them is gone, nothing is stored: QueueGone."""


class BatchStatus(Struct, frozen=True):
    """A batch and its counts so far. `sent` is what followed: `then`, `on_failure` or nothing."""

    id: str
    tenant: str
    state: BatchState
    total: int
    delivered: int
    dead: int
    cancelled: int
    made_at_ms: int
    ended_at_ms: int
    sent: str
    parent: str = ""
    next: str = ""
    """The batch that followed it, if one did: the next step of a chain."""
    sentence: str = ""
    """How it stands, for people."""

    @property
    def pending(self) -> int:
        """How many members have not ended."""
        return self.total - self.delivered - self.dead - self.cancelled

    @property
    def over(self) -> bool:
        """Whether nothing of it is sent any more."""
        return self.state in (BatchState.ended, BatchState.skipped)


def batch_sentence(status: BatchStatus, now_ms: int) -> str:
    """Say how a batch stands."""
    match status.state:
        case BatchState.filling:
            since = duration_text(max(0, now_ms - status.made_at_ms))
            return (
                f"its messages are being stored, for {since}: those that are stored are sent. If "
                f"its sender is gone, it is given up {duration_text(FILLING_MS)} after it was "
                "begun, and nothing follows; send the rest, or what was to follow, again"
            )
        case BatchState.waiting:
            return "it waits for the batch before it to end"
        case BatchState.open:
            return f"{status.pending} of {status.total} members have not ended"
        case BatchState.skipped:
            return (
                "nothing of it is sent any more: the batch before it ended the other way, or its "
                "sender was gone before all its messages were stored"
            )
        case BatchState.ended:
            followed = f"its `{status.sent}` was sent" if status.sent else "nothing followed"
            return f"all {status.total} members have ended, and {followed}"


def batch_text(number: int) -> str:
    """Return a batch's id as users see it."""
    return PREFIX + to_digits(number)


def batch_number(text: str) -> int:
    """Return a batch's id as the store keeps it."""
    number = read_id(text, PREFIX)
    if number is None:
        raise UnknownBatch(f"{text[:40]!r} is not a batch's id; they begin with {PREFIX}")
    return number


def marked(headers: bytes, batch: int) -> bytes:
    """Return a member's headers, with its batch first."""
    first = b'{"postroad-batch":"%s"' % batch_text(batch).encode()
    return first + (b"," + headers[1:] if headers else b"}")


def follow(row: tuple[int, int, bool], dead: int, cancelled: int) -> tuple[int, FollowRole | None]:
    """Choose what follows an ended batch (then, on_failure, stops): which message or batch."""
    then, on_failure, stops = row
    if (dead or cancelled) and (on_failure or stops):
        return on_failure, FollowRole.on_failure if on_failure else None
    return then, FollowRole.then if then else None
