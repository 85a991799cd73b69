"""Drafting: what a sender asks for, checked and made into a draft for the store."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.bodies import encode_body
from postroad.model.durations import CENTURY_S, Duration, seconds_of
from postroad.model.entities import PRIORITIES, Draft, Queue, order_group_of, shard_of
from postroad.model.errors import BadBody, BadInput, BadTime, BodyTooLarge
from postroad.model.hours import ZONE, check_zone
from postroad.model.near_names import nearest
from postroad.model.replacing import shaped
from postroad.model.states import NEVER
from postroad.model.texts import checked, kind_of

HEADERS_BYTES_MAX: Final = 16 << 10
CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""What no header may have: any control but the tab."""
PLAIN: Final = (str, str, int)
KEYS: Final = ("key", "order_key")
RAW: Final = {"content-type": "application/octet-stream"}


class Send(Struct, frozen=True):
    """One message to be sent: to which queue, what, and how."""

    queue: str
    body: object
    key: str | None = None
    """Idempotency key: within a day the same key and body give the first receipt again."""
    order_key: str | None = None
    """Messages of one key go one after the other, in order of acceptance."""
    deliver_at: datetime | None = None
    delay: Duration = 0.0
    """The delay from now, in seconds or as a timedelta; instead of `deliver_at`."""
    expires_at: datetime | None = None
    priority: int = 0
    """The priority, from -9 to 9: higher goes first among the messages of its queue."""
    headers: dict[str, str] | None = None
    tenant: str = "default"
    credential: str = ""
    """What a text message or a mail is sent with; else the one that has its channel's name."""
    check: bool = False
    """Refuse the message if its server has no address now; else it is stored and tried."""
    zone: str = ""
    """The recipient's time zone, by which allowed hours go."""
    replace: str | None = None
    """The message takes the place of an earlier one of its queue with this key that has not
    started."""
    at_most: Duration = 0.0
    """How long replacing may put it off, from the first one on."""
    unique_for: Duration = 0.0
    """Within so long the same key, or else the same body, is one message."""

    def __post_init__(self) -> None:
        named = self.key is not None or self.order_key is not None
        kinds = type(self.queue), type(self.tenant), type(self.priority)
        if kinds != PLAIN or named or self.headers:
            _check_types(self)  # half a microsecond, which most sends are spared


def make_send(queue: str, body: object, options: Mapping[str, object]) -> Send:
    """Return a Send with options; BadInput names one that there is not, and the nearest."""
    try:
        return Send(queue, body, **options)  # type: ignore[arg-type]
    except TypeError:
        known = Send.__struct_fields__
        for name in options.keys() - known:
            hint = nearest(name, known[2:]) or f": give {', '.join(known[2:])}"
            raise BadInput(f"send: there is no {name}={hint}") from None
        raise


def as_send(given: object) -> Send:
    """Return what a sender gives, a Send or a pair of queue and body, as a Send."""
    if isinstance(given, Send):
        return given
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise BadInput(f"{given!r:.100} is neither a Send(…) nor a (queue, body)")
    return Send(*given)


def _check_types(send: Send) -> None:
    for name in ("queue", "tenant", "key", "order_key"):
        given = getattr(send, name)
        if given is None and name in KEYS:
            continue
        if not isinstance(given, str):
            raise BadInput(f"{name}={given!r:.100}: give a text")
        if not given and name in KEYS:
            raise BadInput(f"{name} is empty: give one, or leave it out")
    priority: object = send.priority
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise BadInput(f"priority={send.priority!r}: give a whole number")
    if not isinstance(send.headers or {}, Mapping):
        raise BadInput(f"headers= is {kind_of(send.headers)}: give a dict of texts")
    for header in (send.headers or {}).items():
        if not all(isinstance(text, str) for text in header):
            name, kind = header[0], type(header[1]).__name__  # the value may be a password
            raise BadInput(f"headers: {name!r} ({kind}) must be texts, name and value")
        if not all(map(str.isprintable, header)) and any(map(CONTROL.search, header)):
            raise BadInput(
                f"headers: {header[0]!r:.100} has a control character, as a line end, in its name "
                "or its value: leave it out"
            )


def draft(send: Send, queue: Queue, number: int, now_ms: int, body_bytes_max: int) -> Draft:
    """The draft of a message, or a BadInput that says what is wrong with it."""
    body, headers = _encode(send, body_bytes_max)
    if send.priority not in PRIORITIES:
        raise BadInput(f"priority={send.priority}: give {PRIORITIES[0]} to {PRIORITIES[-1]}")
    if send.key or send.order_key:
        _check_keys(send)
    plain = send.deliver_at is None and not send.delay
    due_ms = now_ms if plain else _due_ms(send, now_ms)
    expires_ms = NEVER if send.expires_at is None else _moment_ms(send.expires_at, "expires_at")
    if expires_ms <= max(due_ms, now_ms):
        raise BadTime("expires_at is not after the time of delivery: it could never be sent")
    order_key = send.order_key or ""
    shard = shard_of(queue.policy, len(queue.lanes), order_key, number)
    made = Draft(
        id=number,
        queue=queue.id,
        lane=queue.lanes[shard],
        order_group=order_group_of(queue.policy, order_key),
        priority=send.priority,
        accepted_at_ms=now_ms,
        due_ms=due_ms,
        expires_at_ms=expires_ms,
        body=body,
        headers=headers,
        key=send.key or "",
        order_key=order_key,
    )
    if send.replace is None and not send.unique_for and not send.at_most:
        return made
    return shaped(made, send.replace, send.at_most, send.unique_for)


def _check_keys(send: Send) -> None:
    for name, text in (("key", send.key), ("order_key", send.order_key)):
        _ = checked(name, text or "")  # whether stores take it


def _encode(send: Send, body_bytes_max: int) -> tuple[bytes, bytes]:
    headers = dict(send.headers) if send.headers else {}
    if send.zone:
        headers[ZONE] = send.zone
    if ZONE in headers:
        _ = check_zone(headers[ZONE])  # raises
    if isinstance(send.body, bytes):
        body = send.body
        headers = RAW | headers
    else:
        try:
            body = encode_body(send.body)
        except BadBody as error:
            raise BadBody(f"{send.queue!r}: {error}") from None
    if len(body) > body_bytes_max:
        raise BodyTooLarge(
            f"the body for {send.queue!r} has {len(body)} bytes, the limit is {body_bytes_max}: "
            "send a reference to it, or raise body_bytes_max"
        )
    try:
        packed = msgspec.json.encode(headers) if headers else b""
    except (TypeError, ValueError) as error:
        raise BadInput(f"headers must be texts ({error})") from None
    if len(packed) > HEADERS_BYTES_MAX:
        raise BadInput(f"the headers have {len(packed)} bytes, the limit is {HEADERS_BYTES_MAX}")
    return body, packed


def _due_ms(send: Send, now_ms: int) -> int:
    delay_s = seconds_of(send.delay)
    if not 0 <= delay_s <= CENTURY_S:
        raise BadTime(
            f"delay={send.delay!r}: give seconds from now or a timedelta, not a negative one, at "
            "most a century"
        )
    if send.deliver_at is None:
        return now_ms + int(delay_s * 1000)
    if send.delay:
        raise BadTime("give delay or deliver_at, not both")
    return max(now_ms, _moment_ms(send.deliver_at, "deliver_at"))


def _moment_ms(moment: object, name: str) -> int:
    if not isinstance(moment, datetime):
        raise BadTime(f"{name}={moment!r}: give a datetime with its time zone")
    if moment.tzinfo is None:
        raise BadTime(f"{name} has no time zone: give one, for example datetime.now(timezone.utc)")
    return round(moment.timestamp() * 1000)
