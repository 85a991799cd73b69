"""Events: a body that is stored once, and the messages that carry it to endpoints."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.entities import Draft
from postroad.model.errors import UnknownEvent
from postroad.model.ids import NODE_BITS, read_id, to_digits, to_text
from postroad.model.states import NEVER

PREFIX: Final = "evt_"
HEADER: Final = "postroad-event"
"""The header of a message whose body is that of an event."""
MARK: Final = b'{"postroad-event":"evt_'
"""How the headers of such a message begin, as they are stored."""
MARKED: Final = len(MARK) + 13
"""The length up to the end of the event's id."""
ENCODE: Final = msgspec.json.Encoder().encode
TEST_HEADER: Final = "postroad-test"
"""The header of a test event's message."""
TEST_CHANNEL: Final = "postroad.test"
"""The channel of test events: each is for one endpoint, and none other ever gets it."""
KEY_TTL_MS: Final = 24 * 3_600_000


class EventRow(Struct, frozen=True):
    """An event as it is stored. Its messages were numbered in one go, from `first` to `last`."""

    id: int
    tenant: str
    type: str
    body: bytes
    channels: bytes
    made_at_ms: int
    first: int
    last: int
    matched: int


class EventTarget(Struct, frozen=True, gc=False):
    """Where a message of an event goes. The order group is 1 where its queue is ordered, else 0."""

    queue: int
    lane: int
    order_group: int


class Publish(Struct, frozen=True):
    """What one commit stores: an event and its messages, if the sets that it was matched against
    are still of these versions."""

    event: EventRow
    targets: tuple[EventTarget, ...]
    headers: bytes
    """The headers of each message: the reference to the event, and the trace of the send."""
    endpoints_version: int
    types_version: int
    key: str = ""
    digest: bytes = b""
    own: int = 0
    """The last so many targets are handlers: their messages have the body themselves."""


class EventArrival(Struct, frozen=True):
    """An event that was published inside a caller's own transaction, and is not matched yet."""

    number: int
    id: int
    tenant: str
    type: str
    body: bytes
    channels: bytes
    made_at_ms: int
    key: str
    digest: bytes
    headers: bytes


class Published(Struct, frozen=True):
    """The store's answer. `moved`: nothing was stored, a set has changed. Else the event that is
    stored: this one, or the first one with the same key."""

    moved: bool = False
    id: int = 0
    first: int = 0
    matched: int = 0
    digest: bytes = b""
    """The digest of the key's first use; empty when this is the first use."""


def event_id(number: int) -> str:
    """Return an event's id as users see it."""
    return PREFIX + to_digits(number)


def event_number(text: str) -> int:
    """Return an event's id as the store keeps it."""
    number = read_id(text, PREFIX)
    if number is None:
        raise UnknownEvent(f"{text[:40]!r} is no event's id; they look like {PREFIX}0123…")
    return number


def reference(number: int, more: Mapping[str, str]) -> bytes:
    """Write the headers of a message of this event: which it is, and what else they carry."""
    return ENCODE({HEADER: event_id(number), **more})


def referred(headers: bytes) -> int | None:
    """Read which event a message carries; None when it has a body of its own."""
    if not headers.startswith(MARK) or headers[MARKED : MARKED + 1] != b'"':
        return None
    return read_id(headers[len(MARK) - len(PREFIX) : MARKED].decode("latin-1"), PREFIX)


def own_headers(headers: bytes) -> bytes:
    """Return the headers of a message without the reference to its event."""
    rest = headers[MARKED + 1 :].lstrip(b",")
    return b"" if rest == b"}" else b"{" + rest


def message_numbers(first: int, count: int) -> range:
    """Return the numbers of an event's messages."""
    return range(first, first + (count << NODE_BITS), 1 << NODE_BITS)


def message_ids(first: int, count: int) -> tuple[str, ...]:
    """Return the ids of an event's messages."""
    return tuple(map(to_text, message_numbers(first, count)))


def drafts_of(publish: Publish) -> list[Draft]:
    """Return the messages of an event."""
    made_ms, targets = publish.event.made_at_ms, publish.targets
    numbers = message_numbers(publish.event.first, len(targets))
    refer, own = (b"", publish.headers), (publish.event.body, b"")
    carried = [refer] * (len(targets) - publish.own) + [own] * publish.own
    return [
        Draft(number, to.queue, to.lane, to.order_group, 0, made_ms, made_ms, NEVER, *content)
        for number, to, content in zip(numbers, targets, carried, strict=True)
    ]


def digest_of(type_name: str, body: bytes, channels: bytes) -> bytes:
    """Digest what must be the same for an idempotency key to count again."""
    return blake2b(b"\0".join((type_name.encode(), channels, body)), digest_size=16).digest()
