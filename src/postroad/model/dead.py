"""The dead set: filters, what is shown of its messages, and how they are replayed."""

from enum import StrEnum

import msgspec
from msgspec import Struct

from postroad.model.cursors import bad_cursor, number_in
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import UnknownMessage
from postroad.model.ids import to_number
from postroad.model.ladder import Ladder
from postroad.model.states import NEVER, DeadReason
from postroad.model.tries import Try


class ReplayMode(StrEnum):
    """How a dead message is tried again."""

    once = "once"
    """The ladder stays spent: one more try."""
    reset = "reset"
    """The whole ladder again, from level 0."""

    def level(self, ladder: Ladder) -> int:
        """The level at which the message comes back."""
        return ladder.retries if self is ReplayMode.once else 0


class DeadFilter(Struct, frozen=True):
    """Selects dead messages: all that is given must hold. Tenant None is every tenant."""

    tenant: str | None = DEFAULT_TENANT
    queue: str | None = None
    reason: DeadReason | None = None
    error: str | None = None
    """Contained in the error, in whatever case."""
    since_ms: int = 0
    """Died at this time or later."""
    until_ms: int = NEVER
    """Died before this time."""
    ids: tuple[int, ...] | None = None
    """These and no others; each must be there."""


class DeadMessage(Struct, frozen=True):
    """A message that will not be tried again, and why."""

    id: str
    tenant: str
    queue: str
    reason: DeadReason
    error: str
    status: int
    died_at_ms: int
    accepted_at_ms: int
    level: int
    attempts: int
    priority: int
    order_key: str
    recipient: str = ""
    """Whom the message itself names."""


class DeadLetter(Struct, frozen=True):
    """A dead message with all that was sent and all that was tried."""

    message: DeadMessage
    headers: dict[str, str]
    body: bytes
    tries: tuple[Try, ...]


class Page(Struct, frozen=True):
    """Part of the dead set, the latest death first. `after` asks for the next part; "" is the
    end."""

    messages: tuple[DeadMessage, ...]
    after: str = ""


Place = tuple[int, int]
TOP: Place = (NEVER, NEVER)
"""Before the first page."""


def place_after(last: DeadMessage) -> str:
    """Return the place after a page's last message, for a cursor."""
    return f"{last.died_at_ms:x}.{last.id}"


def place(text: str, after: str) -> Place:
    """Return the place that a cursor names."""
    died_at, _, id_text = text.partition(".")
    try:
        return number_in(died_at, after, 16), to_number(id_text)
    except UnknownMessage:
        raise bad_cursor(after) from None


def headers_of(packed: bytes) -> dict[str, str]:
    """Decode a dead message's headers. If a stranger wrote something else there, only its size is
    shown."""
    try:
        return msgspec.json.decode(packed, type=dict[str, str]) if packed else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"unreadable": f"{len(packed)} bytes that are no headers"}
