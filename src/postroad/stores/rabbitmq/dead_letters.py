"""Poison: messages that cannot be read, or that take their process with them each time."""

from collections.abc import Mapping
from enum import Enum
from hashlib import blake2b
from typing import Final

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.foreign import clean
from postroad.model.states import NEVER, DeadReason
from postroad.stores.rabbitmq.envelope import BODY_BYTES_MAX, ERROR_CHARACTERS_MAX, Envelope
from postroad.stores.rabbitmq.wire.properties import Delivery

COUNT: Final = "x-delivery-count"
ALONE_FROM: Final = 2
"""Delivered so often without an end: suspected, but so is everything that was prefetched beside
it."""
UNREADABLE: Final = "unreadable"
"""The queue that messages belong to which nobody can read; a handler of that name may try."""
STARTS_MAX: Final = 3
"""Noted starts without an end. The first two deliveries are not noted: dead at the fifth."""


class Trust(Enum):
    """How a delivery may be started."""

    free = "free"
    """Beside others."""
    alone = "alone"
    """One at a time in this process, its start noted in the state store first."""
    dead = "dead"
    """Not again: dead, `crash_loop`."""


def delivery_count(headers: Mapping[str, object] | None) -> int:
    """How often the broker has taken this message back from a consumer."""
    count = (headers or {}).get(COUNT, 0)
    return count if isinstance(count, int) and count > 0 else 0


def judge(count: int, starts: int) -> Trust:
    """By its returns alone a message is only suspected: its neighbours in the prefetch have as
    many. It is dead for its own noted starts."""
    if starts >= STARTS_MAX:
        return Trust.dead
    return Trust.alone if count >= ALONE_FROM or starts else Trust.free


def suspect(count: int) -> bool:
    """Whether a message that was returned so often may have killed its process."""
    return count >= ALONE_FROM


def unreadable(delivery: Delivery, why: str, now_ms: int) -> Envelope:
    """The dead letter of something that is no message of ours. It has no id to be known by: read
    twice it is two letters, which is better than taking two that look alike for one. What is too
    large for a letter is cut."""
    read_as = f"{now_ms} {delivery.tag}".encode()
    digest = blake2b(delivery.body, digest_size=8, key=read_as).digest()
    return Envelope(
        id=int.from_bytes(digest) >> 1,
        tenant=DEFAULT_TENANT,
        queue=UNREADABLE,
        shard=0,
        hop=1,
        level=0,
        attempts=0,
        priority=0,
        accepted_at_ms=now_ms,
        due_ms=now_ms,
        expires_at_ms=NEVER,
        body=delivery.body[:BODY_BYTES_MAX],
        last_error=clean(f"unreadable: {why}", ERROR_CHARACTERS_MAX),
        reason=DeadReason.rejected,
        died_at_ms=now_ms,
    )


def dropped_by_broker(envelope: Envelope, now_ms: int) -> Envelope:
    """The letter of a message that the broker itself gave up: its last fence, far behind ours."""
    error = "RabbitMQ gave it up: it came back too often without an end"
    return envelope.again(reason=DeadReason.crash_loop, last_error=error, died_at_ms=now_ms)
