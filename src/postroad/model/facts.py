"""What a store knows about a message, a queue or a lane. Explanations are made of it."""

from typing import Final

from msgspec import Struct

from postroad.model.circuit import Circuit
from postroad.model.entities import Queue
from postroad.model.mail_report import NotedReport
from postroad.model.states import DeadReason, State
from postroad.model.tries import Try

COUNTED_MAX: Final = 10_000
"""Explanations count the messages of each retry level up to so many."""


class StoreFacts(Struct, frozen=True):
    """What a store is, and how large."""

    product: str
    """With its version: `SQLite 3.51.3`."""
    layout: int
    """The version of its tables."""
    size_bytes: int


class Owner(Struct, frozen=True):
    """The process that serves a lane, and when it was last heard from."""

    process: int
    host: str
    pid: int
    heard_at_ms: int


class LaneWindow(Struct, frozen=True):
    """How many tries of a lane are under way, and how many at a time it may have. A queue with none
    may begin beyond that, up to twice as many: slow queues hold up no others."""

    in_flight: int
    size: int


class LaneState(Struct, frozen=True):
    """A lane without its credential, which is a secret."""

    id: int
    tenant: str
    transport: str
    server: str
    shard: int
    circuit: Circuit
    paused_at_ms: int
    """0 is not paused."""
    crashes: int
    owner: Owner | None


class Live(Struct, frozen=True):
    """The position of an unfinished message."""

    level: int
    attempts: int
    due_ms: int
    expires_at_ms: int
    uncertain: bool
    held: str
    """Why the exhausted head of its order group holds it; "" when it does not."""
    before: int
    """Ordered: the message right before it in its order group; 0 when it is the head."""
    others_due: int
    """Messages of its lane and queue that are due when it is; many are not counted to the end."""
    starts: int = 0
    """Starts that were noted and whose end is not known."""


class Ended(Struct, frozen=True):
    """How a message ended."""

    state: State
    at_ms: int
    level: int
    attempts: int
    reason: DeadReason | None = None
    late: bool = False
    """The message was dead when its delivery was proven."""


class PaceFacts(Struct, frozen=True):
    """A limit, and how much of it is used."""

    shared: bool
    """Whether lanes share it (by credential or by name), or the queue has it alone."""
    limit: str
    cost: int
    taken_until_ms: int
    """The limit's rate slots are reserved up to then."""
    full_until_ms: int
    """Until then a long window allows no more; 0 is not full."""
    name: str = ""
    """The name of a named limit."""
    hours: str = ""
    zone: str = ""
    until_ms: int = 0
    """When the limit ends by itself; 0 is never."""


class Pause(Struct, frozen=True):
    """Why a queue is paused: a kind of block, and its reason."""

    kind: str = "paused"
    reason: str = "paused by hand"


BY_HAND: Final = Pause()


class RunningTry(Struct, frozen=True):
    """How far a try that is under way said last that it has come."""

    done: float
    total: float
    """0 is not known."""
    at_ms: int


class MessageFacts(Struct, frozen=True):
    """One message: either `live` or `ended` is set. The lane of a delivered one is not kept."""

    id: int
    accepted_at_ms: int
    queue: Queue
    paused_at_ms: int
    """Since when its queue is paused; 0 is not."""
    tries: tuple[Try, ...]
    live: Live | None = None
    ended: Ended | None = None
    lane: LaneState | None = None
    paces: tuple[PaceFacts, ...] = ()
    recipient: str = ""
    """Whom the message itself names."""
    reports: tuple[NotedReport, ...] = ()
    pause: Pause = BY_HAND
    running: RunningTry | None = None


class Tally(Struct, frozen=True):
    """How many messages of one lane are in a state at a level, and since when the first is due."""

    lane: int
    state: State
    level: int
    count: int
    oldest_due_ms: int
    because: str = ""
    """What holds them; never empty when the state is held."""


class QueueFacts(Struct, frozen=True):
    """One queue, its lanes, and what waits in them."""

    queue: Queue
    paused_at_ms: int
    lanes: tuple[LaneState, ...]
    tallies: tuple[Tally, ...]
    dead: int
    paces: tuple[PaceFacts, ...] = ()
    pause: Pause = BY_HAND


class LaneFacts(Struct, frozen=True):
    """One lane and what waits in it."""

    lane: LaneState
    queues: int
    tallies: tuple[Tally, ...]
    paces: tuple[PaceFacts, ...] = ()
