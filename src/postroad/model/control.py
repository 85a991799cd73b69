"""Values for cancelling messages."""

from enum import StrEnum

from msgspec import Struct


class CancelState(StrEnum):
    """What a request to cancel did."""

    cancelled = "cancelled"
    """No try starts after this answer."""
    sending = "sending"
    """A try is under way; it is the last one."""
    pending = "pending"
    """The lane's owner has not answered in time: it may still be tried."""
    final = "final"
    """The message was delivered, dead or cancelled before."""
    unknown = "unknown"
    """No such message."""


class Cancelled(Struct, frozen=True):
    """The answer for one message."""

    id: str
    state: CancelState


class CancelledAll(Struct, frozen=True):
    """The counts of cancelling all messages that were there when the call began. Each is counted
    once. No try of a `cancelled` one starts; `final` ones were delivered or dead before."""

    cancelled: int = 0
    sending: int = 0
    pending: int = 0
    final: int = 0

    @property
    def total(self) -> int:
        """How many messages were there."""
        return self.cancelled + self.sending + self.pending + self.final


class Cursor(Struct, frozen=True):
    """A position in a walk over a queue's messages: after this place of this rung."""

    rung: int = 0
    place: int = -1 << 62
    id: int = 0


class CancelSlice(Struct, frozen=True):
    """What one slice of a walk did, and where the next one begins; None after the last."""

    states: dict[int, CancelState]
    after: Cursor | None


class MessageFilter(Struct, frozen=True):
    """Selects unfinished messages."""

    tenant: str
    queue: str = ""
    order_key: str = ""
    accepted_before_ms: int = 1 << 62
