"""Secret headers of a message: sealed in the store, in clear when they are sent, and shown to
nobody."""

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from postroad.model.entities import Draft, Message, Queue
from postroad.model.errors import BadInput, BadKey
from postroad.model.keyring import UNSEALED, KeyRing

SEALED: Final = frozenset(
    ("api-key", "authorization", "cookie", "proxy-authorization", "x-api-key", "x-auth-token")
)
"""Headers that identify the sender: with one of them a stranger could ask in the sender's name."""
SECRET: Final = re.compile(r"auth|cookie|key|password|secret|token")
"""Names of headers that are not shown; more than are sealed, since hiding costs nothing."""
HIDDEN: Final = "…"
MARK: Final = "\x01"
"""What a sealed value begins with: no HTTP header can."""
PACKED_MARK: Final = b'"\\u0001'
"""The same in JSON: found in the headers of few messages, and looked for in those of all."""
DECODE: Final = msgspec.json.Decoder(dict[str, str]).decode
ENCODE: Final = msgspec.json.Encoder().encode
Address = tuple[str, str]
"""A queue's tenant and name. Its number is another one in every state store beside a broker."""


def has_secrets(headers: Mapping[str, str]) -> bool:
    """Whether one of the headers is to be sealed."""
    return not SEALED.isdisjoint([name.lower() for name in headers])


def sealed(draft: Draft, queue: Queue, ring: KeyRing) -> Draft:
    """The draft as it may be stored. What a key is compared by leaves secrets out: a sender that
    asks again with a fresh token means the same message, and no digest of a password is kept."""
    headers = DECODE(draft.headers)
    names = [name for name in headers if name.lower() in SEALED]
    if any(headers[name].startswith(MARK) for name in names):
        raise BadInput("headers: a value begins with a control character; remove it")
    said = ENCODE({**headers, **dict.fromkeys(names, "")})
    if not ring:
        return replace(draft, said=said)
    to = (queue.tenant, queue.name)
    for name in names:
        headers[name] = _sealed(headers[name], ring, _place(to, draft.id, name))
    return replace(draft, headers=ENCODE(headers), said=said)


def opened(message: Message, queue: Queue, ring: KeyRing) -> Message:
    """The message as it is sent; a BadKey when a header does not open. Headers that cannot be read
    are a stranger's, and stay as they are: their sender wrote them so."""
    to = (queue.tenant, queue.name)
    headers = opened_headers(message.headers, to, message.id, ring)
    return message if headers is None else replace(message, headers=ENCODE(headers))


def opened_headers(packed: bytes, to: Address, number: int, ring: KeyRing) -> dict[str, str] | None:
    """The headers of a stored message as they are sent; None when they cannot be read."""
    headers = _read(packed)
    for name, value in (headers or {}).items():
        if headers is not None and _is_sealed(name, value):
            headers[name] = _opened(value, ring, _place(to, number, name))
    return headers


def resealed(
    headers: bytes, to: Address, number: int, ring: KeyRing, *, plain_only: bool = False
) -> bytes | None:
    """Seal the headers with the ring's first key, or only those that no key has sealed. Returns
    None when nothing is to be done; raises BadKey when one is sealed with an unknown key."""
    named = _read(headers)
    if named is None:
        return None
    fresh = dict(named)
    for name, value in named.items():
        place = _place(to, number, name)
        if not _is_sealed(name, value):
            if name.lower() in SEALED:  # stored before the road had a key
                fresh[name] = _sealed(value, ring, place)
        elif plain_only:
            ring.check(_key(value))
        elif _key(value) != ring.first:
            fresh[name] = _sealed(_opened(value, ring, place), ring, place)
    return None if fresh == named else ENCODE(fresh)


def shown(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers as people see them."""
    return {
        name: HIDDEN if SECRET.search(name.lower()) else value for name, value in headers.items()
    }


def _read(headers: bytes) -> dict[str, str] | None:
    try:
        return DECODE(headers)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _is_sealed(name: str, value: str) -> bool:
    return value.startswith(MARK) and name.lower() in SEALED


def _key(value: str) -> str:
    return value[1:].partition(":")[0]


def _place(to: Address, number: int, name: str) -> str:
    """Name the place of a header. It opens in its own message only, and only for the queue that it
    was sent to."""
    tenant, queue = to
    return f"message.headers\0{tenant}\0{queue}\0{number}\0{name}"


def _sealed(value: str, ring: KeyRing, place: str) -> str:
    return f"{MARK}{ring.first}:{b64encode(ring.seal(value.encode(), place)).decode()}"


def _opened(value: str, ring: KeyRing, place: str) -> str:
    key, _, packed = value[1:].partition(":")
    try:
        data = b64decode(packed, validate=True)
    except ValueError:
        data = b""
    if key == UNSEALED or not data:
        raise BadKey("a sealed header has an unknown form: it is damaged, or of a newer release")
    return ring.open(key, data, place).decode()
