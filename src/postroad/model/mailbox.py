"""Mailboxes and letters, the operations on them and their answers."""

from enum import StrEnum
from hashlib import sha256
from typing import Final

from msgspec import Struct

from postroad.model.entities import DEFAULT_TENANT

DAY_MS: Final = 86_400_000
QUOTA: Final = 128


def digest(token: str) -> bytes:
    """Hash a token for the store. Random bits need no salt and no slow hash."""
    return sha256(token.encode()).digest()


class RefusalCode(StrEnum):
    """Why a request was refused, as it stands in error frames."""

    malformed = "malformed"
    unknown_command = "unknown_command"
    too_many = "too_many"
    too_large = "too_large"
    denied = "denied"
    not_subscribed = "not_subscribed"
    wrong_id = "wrong_id"
    prohibited = "prohibited"
    unavailable = "unavailable"


class Letter(Struct, frozen=True):
    """A message in a mailbox. Positions rise by one and are never used again."""

    position: int
    at_ms: int
    text: bool
    body: bytes


class Box(Struct):
    """A mailbox: its messages are those from `first` up to, not including, `next`."""

    name: str
    sender: bytes
    recipient: bytes
    tenant: str = DEFAULT_TENANT
    quota: int = QUOTA
    ttl_ms: int = 21 * DAY_MS
    first: int = 1
    next: int = 1
    over: bool = False
    """A sender was refused: nobody may send until the mailbox is empty."""
    number: int = 0
    """The store's own; 0: not stored yet."""

    @property
    def waiting(self) -> int:
        """How many messages are in it."""
        return self.next - self.first


# What can be asked of the store, in order. Tokens are hashes already.


class Create(Struct, frozen=True):
    """Makes a mailbox."""

    box: Box


class Post(Struct, frozen=True):
    """Stores a message. `trusted`: the sender showed the hub's own token."""

    name: str
    token: bytes
    text: bool
    body: bytes
    trusted: bool = False


class Peek(Struct, frozen=True):
    """Reads the oldest message of each of these mailboxes."""

    names: list[str]


class Get(Struct, frozen=True):
    """Reads the oldest message of one mailbox, for a client that may receive it."""

    name: str
    token: bytes


class Take(Struct, frozen=True):
    """Deletes a message that was received, and reads the next. Without a token the recipient is
    known already."""

    name: str
    position: int
    token: bytes | None = None


class Watch(Struct, frozen=True):
    """Asks whether these mailboxes can be sent to now."""

    asks: list[tuple[str, bytes]]
    trusted: bool = False


class Drop(Struct, frozen=True):
    """Deletes a mailbox with all that is in it. Without a token, an operator of the hub asks."""

    name: str
    token: bytes | None = None


class Expire(Struct, frozen=True):
    """Deletes messages up to this position, which are too old."""

    name: str
    position: int


Op = Create | Post | Peek | Get | Take | Watch | Drop | Expire


class Refused(Struct, frozen=True):
    """The operation was refused, and changed nothing."""

    code: RefusalCode
    text: str = ""


class Done(Struct, frozen=True):
    """The operation was executed. `reopened`: the mailbox can be sent to again. `left`: how many
    messages are in it."""

    reopened: bool = False
    left: int = 0


class Posted(Struct, frozen=True):
    """The message is stored. `head`: it is the oldest one."""

    letter: Letter
    head: bool


class Full(Struct, frozen=True):
    """The mailbox is over its quota until it is empty."""


class Looked(Struct, frozen=True):
    """For each mailbox: None if it was refused, else how many messages wait."""

    waiting: list[int | None]


class Heads(Struct):
    """The oldest message of each mailbox, or None. The letters are filled in when they are read."""

    letters: list[Letter | None]
    stale: bool = False
    """A message lies there that is too old to be read: a sweep is due."""


class Taken(Struct):
    """The message is deleted, if it was still there. `next` is the one after it."""

    next: Letter | None = None
    reopened: bool = False
    stale: bool = False
    tenant: str = ""
    """Whose mailbox it is."""


class Watched(Struct, frozen=True):
    """For each mailbox: None if it was refused, else whether it is open."""

    open: list[bool | None]


Answer = Refused | Done | Posted | Full | Looked | Heads | Taken | Watched

DENIED: Final = Refused(RefusalCode.denied, "no such mailbox, or the token is not its own")
DONE: Final = Done()
FULL: Final = Full()


class HubLimits(Struct, frozen=True):
    """The numbers that a hub works by."""

    quota: int = QUOTA
    """Messages in a mailbox, unless it was made with another number."""
    ttl_ms: int = 21 * DAY_MS
    """How long a message waits in a mailbox."""
    body_bytes_max: int = 64 * 1024
    frame_bytes_max: int = 256 * 1024
    batch_max: int = 256
    """Mailboxes named in one frame. A connection keeps a read buffer of its largest frame."""
    look_max: int = 2_048
    """Mailboxes looked up at a time."""
    subscriptions_max: int = 100_000
    """Maximum subscriptions of one connection."""
    watches_max: int = 10_000
    """Mailboxes of which one connection awaits CONTINUE."""
    commands_max: int = 256
    """Commands of one connection that are not answered yet; then it is not read from."""
    connections_max: int = 0
    """At the same time; 0: what the process's file descriptors leave room for."""
    address_connections_max: int = 1_000
    """Maximum connections of one address, or of one /64 of IPv6."""
    wrong_tokens_max: int = 1_000
    """Maximum wrong tokens of one address in a minute. Then its connection is closed, and it gets
    no other one until the minute is over."""
    pieces_max: int = 4_096
    """Chunks of one HTTP body. With one byte in each, 64 KiB took 360 ms of the loop; so 24 ms."""
    handshake_s: float = 5.0
    """A connection that has not said what it wants by then is closed."""
    request_s: float = 30.0
    """An HTTP request that has not arrived whole by then is closed."""
    stall_s: float = 30.0
    """A client that takes nothing for so long, while something waits for it, is closed."""
    wait_s_max: float = 60.0
    """The longest wait of a long poll."""
    dispatch: int = 32
    """Messages read for one client at a time."""
    commit_max: int = 2_000
    """Pieces of work in one commit."""
    errors_max: int = 100
    """Errors of one connection; then it is closed."""
    sweep_s: float = 600.0
