"""A client and its subscriptions. All subscriptions of a client share one subscriber, and none has
a task."""

from collections import OrderedDict
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from postroad.hub.frames import Continue, End, Event

if TYPE_CHECKING:
    from postroad.hub.state import LongPoll


class SubscriptionState(StrEnum):
    """What a subscription waits for."""

    idle = "idle"
    waiting = "waiting for ack"
    taking = "ack under way"


class ClientLink(Protocol):
    """The connection to a client."""

    def put(self, frame: Event) -> None:
        """Write a frame without waiting. What the client does not read is buffered."""

    def buffered(self) -> int:
        """How many bytes the client has not read yet."""

    def close(self, code: int, reason: str) -> None:
        """Close the connection."""


class Subscription(Struct, gc=False, eq=False):
    """One subscription. A new one to the same mailbox is another object, so that it never gets what
    an older one asked for. It has 48 bytes: there are hundreds of thousands."""

    name: str
    client: "Client"
    delivered: int = 0
    """The message that waits for its ack; negative while that ack is being stored."""
    since: float | None = None
    """When it was delivered."""

    @property
    def state(self) -> SubscriptionState:
        """The state, by what `delivered` says."""
        if not self.delivered:
            return SubscriptionState.idle
        return SubscriptionState.waiting if self.delivered > 0 else SubscriptionState.taking


class Client:
    """A connection with its subscriptions, and those of them that have something to read."""

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

    def __init__(self, link: ClientLink, number: int) -> None:
        self.link = link
        self.number = number
        self.subs: dict[str, Subscription] = {}
        self.ready: OrderedDict[str, float] = OrderedDict()
        """Mailboxes with something to read, and since when; the oldest first. At most one entry
        a subscription, and no bodies."""
        self.pulled: dict[str, int] = {}
        """Mailboxes that this connection gets from, and the message that it got last."""
        self.waits: dict[LongPoll, None] = {}
        """The subscriber's long polls."""
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
        """Note that this mailbox has something to read. A noted one keeps its place."""
        if name not in self.ready:
            self.ready[name] = now_s

    def tell(self, frame: End | Continue) -> None:
        """Send a small frame that answers no command."""
        if self.gone:
            return
        if self.writable and not self.notices:
            self.link.put(frame)
        else:
            self.notices.append(frame)

    def flush(self) -> None:
        """Send the frames that waited, as far as the client reads them."""
        kept = iter(self.notices)
        left: list[Event] = []
        for frame in kept:
            if not self.writable:
                left = [frame, *kept]
                break
            self.link.put(frame)
        self.notices = left
