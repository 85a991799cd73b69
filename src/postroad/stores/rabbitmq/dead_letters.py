"""Dead letters for unreadable messages, and for those that RabbitMQ itself gave up."""

from hashlib import blake2b
from typing import Final

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.foreign import clean
from postroad.model.states import NEVER, DeadReason
from postroad.stores.rabbitmq.envelope import (
    BODY_BYTES_MAX,
    ERROR_CHARACTERS_MAX,
    BadEnvelope,
    Envelope,
    unpack,
)
from postroad.stores.rabbitmq.wire.properties import Delivery

UNREADABLE: Final = "unreadable"
"""The queue of messages that cannot be read. A handler of that name may try them."""


def read_or_reject(delivery: Delivery, now_ms: int) -> Envelope:
    """The envelope of a delivery. An unreadable one gets a dead letter, which has a reason."""
    try:
        return unpack(delivery.properties.headers, delivery.body)
    except BadEnvelope as error:
        return unreadable(delivery, str(error), now_ms)


def unreadable(delivery: Delivery, why: str, now_ms: int) -> Envelope:
    """The dead letter of a delivery that is not a message of ours. It has no id, so one is made up:
    if it is read twice it becomes two letters, which is better than merging two different messages.
    A body that is too large is cut."""
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
    """The dead letter of a message that exceeded the broker's own delivery limit."""
    error = "RabbitMQ gave it up: it came back too often without an end"
    return envelope.again(reason=DeadReason.crash_loop, last_error=error, died_at_ms=now_ms)
