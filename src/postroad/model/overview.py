"""The state of the whole road: queues, lanes, and what waits where."""

from enum import StrEnum

from msgspec import Struct

from postroad.model.circuit import Circuit
from postroad.model.facts import Owner


class Standing(StrEnum):
    """What unfinished messages wait for. Both `held` and `blocked` are the message state `held`."""

    waiting = "waiting"
    held = "held"
    """Until somebody resumes, unblocks or replays: paused, disabled, behind an exhausted head."""
    blocked = "blocked"
    """Until a time: quota, unreachable, an open circuit."""
    uncertain = "uncertain"


class QueueRow(Struct, frozen=True):
    """One queue in a list. `oldest_due_ms`: since when its first message is due."""

    tenant: str
    queue: str
    transport: str
    paused: bool
    block: str
    block_until_ms: int | None
    block_reason: str
    waiting: int
    held: int
    blocked: int
    uncertain: int
    dead: int
    oldest_due_ms: int | None


class LaneRow(Struct, frozen=True):
    """One lane in a list."""

    id: int
    tenant: str
    transport: str
    server: str
    shard: int
    paused: bool
    circuit: Circuit
    owner: Owner | None
    queues: int
    waiting: int
    held: int
    blocked: int
    uncertain: int


class Heap(Struct, frozen=True):
    """The count of messages of one transport, retry level and standing."""

    transport: str
    level: int
    standing: Standing
    count: int
    oldest_due_ms: int


class Overview(Struct, frozen=True):
    """All unfinished messages by transport, level and standing, and the dead by reason."""

    heaps: tuple[Heap, ...]
    dead: dict[str, int]
    open_circuits: int
    blocked_queues: int
    paused_queues: int
