"""Words for stopping things: cancel, pause, resume."""

from enum import StrEnum

from msgspec import Struct


class CancelState(StrEnum):
    """What came of a wish to cancel."""

    cancelled = "cancelled"
    """No try starts after this answer."""
    sending = "sending"
    """A try is under way; it is the last one."""
    pending = "pending"
    """The lane's owner has not answered in time: it may still be tried."""
    final = "final"
    """It was delivered, dead or cancelled before."""
    unknown = "unknown"
    """No such message."""


class Cancelled(Struct, frozen=True):
    """The answer for one message."""

    id: str
    state: CancelState


class MessageFilter(Struct, frozen=True):
    """Which messages that are not finished."""

    tenant: str
    queue: str = ""
    order_key: str = ""
    accepted_before_ms: int = 1 << 62
