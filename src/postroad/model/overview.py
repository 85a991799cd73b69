"""The state of the whole road: queues, lanes, and what waits where."""

from typing import Final

from msgspec import Struct

from postroad.model.circuit import Circuit
from postroad.model.facts import LaneWindow, Owner
from postroad.model.states import NEVER, State


class PageOf(Struct, frozen=True):
    """What a page of queues or lanes is of: all, or those in trouble; and how far messages are
    counted, for each retry level."""

    trouble: bool = False
    most: int = NEVER


WHOLE_PAGE: Final = PageOf()


class QueueRow(Struct, frozen=True):
    """One queue in a list. `oldest_due_ms`: since when its first message is due."""

    tenant: str
    queue: str
    transport: str
    paused: bool
    block: str
    block_until_ms: int | None
    """When the block ends; None: when somebody lifts it, or there is none."""
    block_reason: str
    waiting: int
    held: int
    because: str
    """What holds them; never empty while some are held."""
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
    because: str
    """What holds them; never empty while some are held."""
    uncertain: int
    window: LaneWindow | None = None
    """Of a lane that the process serves which answers; others know of theirs."""


class MessageCount(Struct, frozen=True):
    """The count of messages of one transport, retry level and state."""

    transport: str
    level: int
    state: State
    count: int
    oldest_due_ms: int


class Overview(Struct, frozen=True):
    """All unfinished messages by transport, level and state, and the dead by reason."""

    counts: tuple[MessageCount, ...]
    dead: dict[str, int]
    open_circuits: int
    blocked_queues: int
    paused_queues: int
    uncertain_recipients: int = 0
    """Recipients of campaigns of whom nobody knows whether they were sent to."""
    disabled_endpoints: int = 0
    """Disabled endpoints; their queues are not among those that somebody paused."""
    whole: bool = True
    """Whether all were counted; else there are at least so many."""

    def count(self, state: State) -> int:
        """Count the messages of a state."""
        return sum(each.count for each in self.counts if each.state is state)
