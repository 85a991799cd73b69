"""How a message is stored in the broker: the body as it is, everything else in headers."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.entities import DEFAULT_TENANT, Draft, Queue
from postroad.model.errors import PostroadError
from postroad.model.foreign import clean
from postroad.model.ids import made_at_ms, to_number, to_text
from postroad.model.states import NEVER, DeadReason

FORM: Final = 2
"""The version of the headers. A version that old workers cannot read gets a new number. Version 1
had all headers; version 2 leaves out those that follow from others. Both can be read."""
READ: Final = (1, FORM)
ERROR_CHARACTERS_MAX: Final = 1_000
COUNT_MAX: Final = 1 << 30
BODY_BYTES_MAX: Final = 8 * 1024 * 1024
"""Half of RabbitMQ 4's limit: above that it closes the channel with all its open publishes."""
Value = int | str | bytes


class BadEnvelope(PostroadError):
    """A message in one of our broker queues that cannot be read or sent on."""


class Envelope(Struct, frozen=True):
    """One copy of a message. `hop` numbers the copies: each one replaces the one before."""

    id: int
    tenant: str
    queue: str
    shard: int
    """The index of the lane in the queue's lanes."""
    hop: int
    level: int
    """The retry level; header `current-iteration`."""
    attempts: int
    priority: int
    accepted_at_ms: int
    due_ms: int
    expires_at_ms: int
    body: bytes
    headers: bytes = b""
    retry_max: int = 0
    """The retries of the queue's ladder when the message was sent. It is shown to people who look
    into the broker; the queue's policy decides."""
    retry_timeout_ms: int = 0
    first_error: str = ""
    last_error: str = ""
    reason: str = ""
    """Why the message is dead; "" while it is alive."""
    status: int = 0
    died_at_ms: int = 0
    behind_ms: int = 0
    """The message was a probe that failed: it stands behind those that were due then."""

    def again(self, **changes: object) -> "Envelope":
        """The next copy."""
        return replace(self, hop=self.hop + 1, **changes)

    def failed(self, error: str) -> "Envelope":
        """The envelope with one more error."""
        cut = error[:ERROR_CHARACTERS_MAX]
        return replace(self, first_error=self.first_error or cut, last_error=cut)


def of_draft(draft: Draft, queue: Queue) -> Envelope:
    """The first copy of a new message."""
    ladder = queue.policy.ladder
    return Envelope(
        id=draft.id,
        tenant=queue.tenant,
        queue=queue.name,
        shard=queue.lanes.index(draft.lane),
        hop=0,
        level=0,
        attempts=0,
        priority=draft.priority,
        accepted_at_ms=draft.accepted_at_ms,
        due_ms=draft.due_ms,
        expires_at_ms=draft.expires_at_ms,
        body=draft.body,
        headers=draft.headers,
        retry_max=ladder.retries,
        retry_timeout_ms=ladder.delay_ms(1),
    )


NUMBERS: Final = {
    "hop": "hop",
    "current-iteration": "level",
    "attempts": "attempts",
    "priority": "priority",
    "shard": "shard",
    "expires-at-ms": "expires_at_ms",
    "retry-max": "retry_max",
    "retry-timeout-ms": "retry_timeout_ms",
    "status": "status",
    "died-at-ms": "died_at_ms",
    "behind-ms": "behind_ms",
}
TEXTS: Final = {
    "queue": "queue",
    "first-error": "first_error",
    "last-error": "last_error",
    "reason": "reason",
}
ERRORS: Final = ("first-error", "last-error")
NAMES: Final = ("id", "tenant", "queue")
"""Headers that are looked up in a database; PostgreSQL refuses zero bytes in text."""
ABSENT: Final = {"expires-at-ms": NEVER}
"""The value of a header that is left out; 0 or "" for all others. Without headers for them, the
tenant is the default one, the message was accepted when its id was made, and is due since then.
Each header costs the broker more than a microsecond; a message that goes at once has six."""

BLANK: Final = {
    **{field: ABSENT.get(name, 0) for name, field in NUMBERS.items()},
    **dict.fromkeys(TEXTS.values(), ""),
}


def pack(envelope: Envelope) -> dict[str, Value]:
    """The headers of an envelope. The broker's own headers (`x-death`…) are never copied: a broker
    drops messages that seem to go round in a cycle."""
    table: dict[str, Value] = {"postroad": FORM, "id": to_text(envelope.id)}
    for name, field in NUMBERS.items():
        number: int = getattr(envelope, field)
        if number != ABSENT.get(name, 0):
            table[name] = number
    for name, field in TEXTS.items():
        text: str = getattr(envelope, field)
        if text:
            table[name] = text
    if envelope.tenant != DEFAULT_TENANT:
        table["tenant"] = envelope.tenant
    if envelope.accepted_at_ms != made_at_ms(envelope.id):
        table["accepted-at-ms"] = envelope.accepted_at_ms
    if envelope.due_ms != envelope.accepted_at_ms:
        table["due-ms"] = envelope.due_ms
    if envelope.headers:
        table["headers"] = envelope.headers
    return table


def unpack(table: Mapping[str, object], body: bytes) -> Envelope:
    """The envelope of a delivery. BadEnvelope says what is wrong with it."""
    if len(body) > BODY_BYTES_MAX:
        raise BadEnvelope(f"its body has {len(body)} bytes, of which {BODY_BYTES_MAX} fit")
    if table.get("postroad") not in READ:
        raise BadEnvelope("it was not sent by Postroad, or by a newer one")
    values: dict[str, object] = {**BLANK, "body": body}
    try:
        values["id"] = number = to_number(_text("id", table.get("id", "")))
        values["tenant"] = _text("tenant", table.get("tenant", DEFAULT_TENANT))
        accepted_at_ms = _number("accepted-at-ms", table.get("accepted-at-ms", made_at_ms(number)))
        values["accepted_at_ms"] = accepted_at_ms
        values["due_ms"] = _number("due-ms", table.get("due-ms", accepted_at_ms))
        for name, value in table.items():  # most messages have few headers
            if name in NUMBERS:
                values[NUMBERS[name]] = _number(name, value)
            elif name in TEXTS:
                text = _text(name, value)
                values[TEXTS[name]] = clean(text) if name in ERRORS else text
        values["headers"] = _bytes("headers", table.get("headers", b""))
        if values["reason"]:
            _ = DeadReason(str(values["reason"]))  # raises when it is not one
    except (PostroadError, TypeError, ValueError) as error:
        raise BadEnvelope(f"its headers cannot be read: {error}") from error
    if not values["queue"] or not values["tenant"]:
        raise BadEnvelope("it names no queue")
    return Envelope(**values)  # type: ignore[arg-type]


def _number(name: str, value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{name} is not a number")
    most = NEVER if name.endswith("-ms") else COUNT_MAX
    if not (-most if name == "priority" else 0) <= value <= most:
        raise ValueError(f"{name} is out of range")
    return value


def _text(name: str, value: object) -> str:
    data = _bytes(name, value)  # text that is not UTF-8 cannot be stored
    text = value if isinstance(value, str) else data.decode()
    if "\0" in text and name in NAMES:
        raise ValueError(f"{name} has a zero byte in it")
    return text


def _bytes(name: str, value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    raise TypeError(f"{name} is not a text")
