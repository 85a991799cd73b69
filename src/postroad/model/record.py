"""What a lane's owner and the store exchange: results, changes of queues and lanes, claims and
readings."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.block import Block
from postroad.model.circuit import Circuit
from postroad.model.decide import Move
from postroad.model.entities import Lane, Message, Queue, Rung
from postroad.model.job_output import JobOutput, OutputKind, failure_kind
from postroad.model.outcome import Kind
from postroad.model.states import NEVER, DeadReason
from postroad.model.try_details import TryDetails

ENDS: Final = frozenset((Move.deliver, Move.die, Move.cancel))
UNSTORABLE: Final = "(what was said could not be stored)"


class Retention(Struct, frozen=True, gc=False):
    """What is kept when a try has ended: how long the body of a delivered message, and how long
    what its handler returned. Where results are kept, those who wait for the end are notified."""

    body_ms: int = 0
    result_ms: int = 0
    result: bytes | None = None


class Result(Struct, frozen=True, gc=False):
    """One try, and what becomes of its message."""

    message: Message
    epoch: int
    kind: Kind
    move: Move
    level: int
    due_ms: int
    reason: DeadReason | None
    error: str
    status: int
    started_ms: int
    took_ms: int
    order_group: int = 0
    priority: int = 0
    details: TryDetails | None = None
    keep: Retention | None = None
    """What is kept of it, where something is."""


class QueueChange(Struct, frozen=True, gc=False):
    """A queue's block from now on; None lifts it."""

    queue: int
    lane: int
    epoch: int
    block: Block | None


class LaneChange(Struct, frozen=True, gc=False):
    """A lane's circuit and crash count from now on. A circuit that closes also lifts the
    `unreachable` blocks of its queues."""

    lane: int
    epoch: int
    circuit: Circuit
    crashes: int = 0
    early_ms: int = NEVER
    """When new traffic may have a probe."""


class Record(Struct, frozen=True):
    """One batch for the store, applied in one transaction."""

    owner: int
    results: list[Result]
    queues: list[QueueChange]
    lanes: list[LaneChange]


def split_up(record: Record) -> list[Record]:
    """Split a record into one record per result and change, in the same order."""
    owner = record.owner
    return [
        *(Record(owner, [one], [], []) for one in record.results),
        *(Record(owner, [], [one], []) for one in record.queues),
        *(Record(owner, [], [], [one]) for one in record.lanes),
    ]


def without_texts(record: Record) -> Record:
    """Remove foreign texts from a record, for a store that refuses them."""
    return Record(
        record.owner,
        [replace(one, error=UNSTORABLE, details=None) for one in record.results],
        [
            replace(one, block=one.block and replace(one.block, reason=UNSTORABLE))
            for one in record.queues
        ],
        [replace(one, circuit=replace(one.circuit, reason=UNSTORABLE)) for one in record.lanes],
    )


def kept_bodies(results: Sequence[Result], now_ms: int) -> list[tuple[int, int]]:
    """The messages whose bodies are kept, and until when."""
    return [(r.message.id, now_ms + r.keep.body_ms) for r in results if r.keep and r.keep.body_ms]


def kept_results(results: Sequence[Result], now_ms: int) -> list[JobOutput]:
    """What handlers returned, and what they raised, as it is kept."""
    return [
        JobOutput(r.message.id, _output_kind(r), r.message.queue, now_ms + k.result_ms, k.result)
        for r in results
        if (k := r.keep) and k.result is not None
    ]


def _output_kind(result: Result) -> int:
    if result.move is Move.deliver:
        return OutputKind.result
    return failure_kind(result.message.attempts + 1)


def ends_of(results: Sequence[Result]) -> list[int]:
    """Those that ended."""
    return [r.message.id for r in results if r.move in ENDS]


def ended_jobs(results: Sequence[Result]) -> list[int]:
    """Those of handlers with results whose messages ended."""
    return [r.message.id for r in results if r.keep and r.keep.result_ms and r.move in ENDS]


class Recorded(Struct, frozen=True):
    """The store's answer to a record: the lanes that are no longer ours, whose failures were
    refused."""

    lost: frozenset[int]


class Claim(Struct, frozen=True):
    """The answer to a claim: lanes that are ours now, and when the next one of these levels is
    ready."""

    lanes: list[Lane]
    next_at_ms: dict[int, int]
    full: bool
    owned: bool
    """Whether anyone in the fleet owns a lane: if so, its sign of life is to be watched."""
    surplus: int = 0
    """Lanes that the owner has above its share, to be given back when their sends have ended."""
    views: list["View"] = []
    """What was due in each of the lanes at `seen_ms`, where the store tells that with the claim."""
    seen_ms: int = 0
    readings: dict[int, "Reading"] = {}
    """The first messages of rungs, where the store tells these with the claim too."""


class View(Struct, frozen=True, gc=False):
    """What is due in one owned lane: its ready rungs, their queues, and when the next is."""

    lane: int
    rungs: list[Rung]
    queues: list[Queue]
    next_at_ms: int
    circuit: Circuit
    paused: bool


class Look(Struct, frozen=True, gc=False):
    """Asks for the rungs of a lane that became ready after a time (what was ready before is
    known to the asker), and for these ones."""

    lane: int
    after_ms: int
    rungs: tuple[int, ...] = ()
    queues: tuple[int, ...] = ()
    """Queues to tell about although nothing of them may be ready."""


class Want(Struct, frozen=True, gc=False):
    """A request for up to `limit` due messages of a rung, after a cursor."""

    rung: int
    after_place: int
    after_id: int
    limit: int


class Release(Struct, frozen=True, gc=False):
    """A lane that its owner gives back."""

    lane: int
    epoch: int


class Reading(Struct, frozen=True, gc=False):
    """The answer to a want. `next_due_ms`: the first message of the rung that is not due yet."""

    rung: int
    messages: list[Message]
    next_due_ms: int
    full: bool


class Swept(Struct, frozen=True):
    """What a sweep did, and when something expires next."""

    expired: int
    next_at_ms: int


class Collected(Struct, frozen=True):
    """How many unused queues were deleted, and when the walk over all goes on; 0: at once."""

    gone: int
    next_at_ms: int


class LostWorker(Struct, frozen=True):
    """A process that was not heard from, and how many lanes it had."""

    host: str
    pid: int
    lanes: int


WORKER_LOST: Final = "a worker was lost, its lanes are free"
"""What the log says of one."""


class Reaped(Struct, frozen=True):
    """Which workers lost their lanes, and whether anyone in the fleet still owns one."""

    workers: tuple[LostWorker, ...]
    owned: bool
    wishes: int = 0
    """Messages that dead owners were asked to cancel, and are now. While there are some their lanes
    stay shut: reap again."""

    @property
    def lost(self) -> int:
        """How many lanes lost their owner."""
        return sum(worker.lanes for worker in self.workers)
