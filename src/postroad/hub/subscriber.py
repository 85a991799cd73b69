"""One subscriber for all of a client's mailboxes: a set of signals instead of tasks."""

from collections import OrderedDict
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from postroad.hub.frames import Continue, End, Event

if TYPE_CHECKING:
    from postroad.hub.connections import Waiter


class State(StrEnum):
    """The state of a subscription."""

    idle = "idle"
    waiting = "waiting for ack"
    taking = "ack under way"
    pulled = "pulled"


class Link(Protocol):
    """The connection to a client."""

    def put(self, frame: Event) -> None:
        """Write a frame without waiting; what the client does not read is buffered."""

    def buffered(self) -> int:
        """Bytes that the other side has not taken yet."""

    def close(self, code: int, reason: str) -> None:
        """Close the connection."""


class Sub(Struct, gc=False, eq=False):
    """One subscription. Each is a generation of its own: what was asked for an older one of
    the same mailbox is not given to this one. 48 bytes: there are hundreds of thousands."""

    name: str
    client: "Client"
    delivered: int = 0
    """The message that waits for its ack; negative while that ack is being stored."""
    since: float | None = None
    """When it was delivered."""

    @property
    def state(self) -> State:
        """The state in words."""
        if not self.delivered:
            return State.idle
        return State.waiting if self.delivered > 0 else State.taking


class Client:
    """A connection: its subscriptions, and which of them have something to read."""

    __slots__ = (
        "__weakref__",
        "gone",
        "link",
        "notices",
        "number",
        "paused_since",
        "pulled",
        "reading",
        "ready",
        "subs",
        "waits",
        "watching",
    )

    def __init__(self, link: Link, number: int) -> None:
        self.link = link
        self.number = number
        self.subs: dict[str, Sub] = {}
        self.ready: OrderedDict[str, float] = OrderedDict()
        """Mailboxes with something to read, and since when; the oldest first. At most one entry
        a subscription, and no bodies."""
        self.pulled: dict[str, int] = {}
        """Mailboxes that this connection gets from, and the message that it got last."""
        self.waits: dict[Waiter, None] = {}
        """Its long polls."""
        self.watching: set[str] = set()
        self.notices: list[Event] = []
        """Kept for when the client reads again."""
        self.reading = False
        """Heads are being read for it."""
        self.paused_since: float | None = None
        self.gone = False

    @property
    def writable(self) -> bool:
        """Whether the client reads what is written."""
        return self.paused_since is None and not self.gone

    def mark(self, name: str, now_s: float) -> None:
        """Note that a mailbox has something to read; one that is noted keeps its place."""
        if name not in self.ready:
            self.ready[name] = now_s

    def tell(self, frame: End | Continue) -> None:
        """Send a small event."""
        if self.gone:
            return
        if self.writable and not self.notices:
            self.link.put(frame)
        else:
            self.notices.append(frame)

    def flush(self) -> None:
        """Send the events that were kept while the client did not read."""
        kept = iter(self.notices)
        left: list[Event] = []
        for frame in kept:
            if not self.writable:
                left = [frame, *kept]
                break
            self.link.put(frame)
        self.notices = left
