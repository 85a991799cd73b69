"""Recipients that messages name: a telephone number, a mail address. Their queues are those of the
credentials that they are sent with, so that a million recipients make no million queues."""

import re
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.entities import LaneKey, Message
from postroad.model.errors import BadInput

TO: Final = "postroad-to"
"""The header that names a message's recipient: it goes wherever the message goes."""
PACKED_TO: Final = b'"postroad-to":'
"""The same in JSON: found in the headers of few messages, and looked for in those of all."""
RESERVED: Final = frozenset(("sms", "whatsapp", "mailto", "smtp", "webhook"))
"""What names of queues of channels, and addresses, begin with: no handler's name does."""
SITE_MARK: Final = "@"


class _Addressed(Struct, frozen=True, rename={"to": TO}):
    to: str = ""


ADDRESSED: Final = msgspec.json.Decoder(_Addressed)


class RecipientCheck(Struct, frozen=True):
    """How the recipients of one channel are checked."""

    one: Callable[[str], str]
    """Normalises a recipient, or raises a BadInput that says what is wrong."""
    plain: re.Pattern[str]
    """Matches only cells that are valid and need no normalising."""


class Measured(Struct, frozen=True):
    """What a message costs at its provider."""

    cost: int = 1
    encoding: str = ""
    blobs: tuple[str, ...] = ()
    """Stored contents that it refers to."""


def recipient_in(headers: bytes) -> str:
    """Return the recipient that a message's headers name; empty when they name none."""
    if PACKED_TO not in headers:
        return ""
    try:
        return ADDRESSED.decode(headers).to
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


def recipient_of(message: Message) -> str:
    """Return the recipient that a message names; BadInput when it names none."""
    to = recipient_in(message.headers)
    if not to:
        raise BadInput("the message names no recipient")
    return to


def addressed(recipient: str) -> bytes:
    """Return the headers of a message that names only its recipient."""
    return msgspec.json.encode({TO: recipient})


def may_name(queue: str) -> bool:
    """Whether messages of a queue may name their recipients."""
    return ":" in queue and "://" not in queue


def queue_name(channel: str, credential: str, site: str = "") -> str:
    """Name the queue of a channel's messages with a credential: `sms:main`; to one site:
    `smtp@mx.example.com:main`."""
    return f"{channel}{SITE_MARK}{site}:{credential}" if site else f"{channel}:{credential}"


def read_queue_name(name: str) -> tuple[str, str, str]:
    """Return the channel, credential and site of a queue's name."""
    begin, _, credential = name.partition(":")
    channel, _, site = begin.partition(SITE_MARK)
    return channel, credential, site


def lane_of(queue: str, tenant: str) -> LaneKey:
    """Return the lane that serves a channel's queue: of its credential, or of its site."""
    channel, credential, site = read_queue_name(queue)
    return LaneKey(channel, site or credential, credential, tenant=tenant)
