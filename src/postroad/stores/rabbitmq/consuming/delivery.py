"""A message that the broker delivered to this process, and the handle that acks it."""

from collections.abc import Mapping
from typing import Final

from postroad.model.entities import Message
from postroad.stores.rabbitmq.delays.gates import HOLD_MS
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.wire.channel import AmqpChannel

RETURNS_HEADER: Final = "x-delivery-count"
SUSPECT_FROM: Final = 2
"""A message that came back this often may have killed its process. So may any message that was
prefetched beside it."""


class AckHandle:
    """Acks or returns a delivery, once. A copy that replaces a message may arrive before the batch
    that published it has ended, and the broker closes a channel that settles a delivery twice."""

    __slots__ = ("_channel", "_settled", "_tag")

    def __init__(self, channel: AmqpChannel, tag: int) -> None:
        self._channel = channel
        self._tag = tag
        self._settled = False

    @property
    def alive(self) -> bool:
        """Whether the channel is still open."""
        return self._channel.lost is None

    def ack(self) -> None:
        """Acknowledge the delivery."""
        if not self._settled:
            self._settled = True
            self._channel.ack(self._tag)

    def nack(self) -> None:
        """Return the delivery to its broker queue."""
        if not self._settled:
            self._settled = True
            self._channel.nack(self._tag, requeue=True)


class DeliveredMessage:
    """A message in memory: its envelope, its form for the engine, and its ack handle."""

    __slots__ = ("ack_handle", "envelope", "message", "republished", "source", "suspect")

    def __init__(
        self, envelope: Envelope, message: Message, ack_handle: AckHandle, source: str
    ) -> None:
        self.envelope = envelope
        self.message = message
        self.ack_handle = ack_handle
        self.source = source
        """The target whose broker queue delivered it."""
        self.suspect = False
        """Whether it may have killed the process that had it before."""
        self.republished = False
        """Whether the broker has confirmed a copy that replaces it."""

    @property
    def has_row(self) -> bool:
        """Whether the state store has a row for it: it was tried, parked, marked as started, or
        sent for later."""
        e = self.envelope
        return bool(e.hop or self.message.marks or e.due_ms > e.accepted_at_ms + HOLD_MS)


def is_suspect(headers: Mapping[str, object] | None) -> bool:
    """Whether a message may have killed the process that had it before."""
    return delivery_count(headers) >= SUSPECT_FROM


def delivery_count(headers: Mapping[str, object] | None) -> int:
    """How often consumers have returned this message to the broker."""
    count = (headers or {}).get(RETURNS_HEADER, 0)
    return count if isinstance(count, int) and count > 0 else 0
