"""Writes requests, and the form in which the log shows them."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.entities import Message
from postroad.model.errors import BadInput
from postroad.model.private_headers import HIDDEN, SECRET
from postroad.model.texts import HEADER_NAME_MAX, HEADER_VALUE_MAX, HEADERS_MAX, checked
from postroad.transports.webhook.endpoints import Endpoint
from postroad.transports.webhook.target import Target

HEADERS_DECODER: Final = msgspec.json.Decoder(dict[str, str])
ENCODE: Final = msgspec.json.Encoder().encode
JSON: Final = {"content-type": "application/json"}
ALWAYS: Final = {"user-agent": "postroad", "accept": "*/*"}
"""Unless something else is set; not in the log."""
TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE: Final = re.compile(r"[\t -~]*")
PARTS: Final = re.compile(r'[\s;,="]')
TELLING_CHARACTERS: Final = 8
"""A shorter text is no secret, and would be in many an answer by chance."""
VEIL: Final = HIDDEN.encode()
OURS: Final = frozenset(
    (
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)


class Beginning(Struct, frozen=True):
    """The part with which all requests to one queue begin. It is written once."""

    endpoint: Endpoint
    wire: bytes
    shown: bytes
    """The headers of it as JSON, open at its end."""
    hidden: tuple[bytes, ...] = ()
    """What is not shown of them, the longest first."""

    def request(self, number: str, timestamp: int, message: Message) -> tuple[bytes, bytes]:
        """Write one try's request, and its headers for the log."""
        body, names = message.body, self.endpoint.hook.names
        signature = self.endpoint.signer.sign(number, timestamp, body)
        wire = f"{names.id}: {number}\r\n{names.timestamp}: {timestamp}\r\n"
        shown = f'"{names.id}":"{number}","{names.timestamp}":"{timestamp}"'
        if signature:
            wire += f"{names.signature}: {signature}\r\n"
            shown += f',"{names.signature}":"{signature}"'
        wire += f"content-length: {len(body)}\r\n\r\n"
        return b"".join((self.wire, wire.encode(), body)), b"%s%s}" % (self.shown, shown.encode())

    def veiled(self, answer: bytes) -> bytes:
        """Hide secrets in an answer for the log: servers that are being set up often repeat what
        they were sent."""
        for text in self.hidden:
            answer = answer.replace(text, VEIL)
        return answer


def written(method: str, target: Target, headers: Mapping[str, str]) -> bytes:
    """Write a request up to its last headers."""
    for name, value in headers.items():
        check_header(name, value)
    lines = "".join([f"{name}: {value}\r\n" for name, value in {**ALWAYS, **headers}.items()])
    return f"{method} {target.path} HTTP/1.1\r\nhost: {target.authority}\r\n{lines}".encode()


def whole(begun: bytes, body: bytes) -> bytes:
    """Join a written request and its body."""
    return b"%scontent-length: %d\r\n\r\n%s" % (begun, len(body), body)


def begin(target: Target, endpoint: Endpoint, own: bytes = b"") -> Beginning:
    """Write the beginning of requests to a target. `own` are headers of one message."""
    given = {name.lower(): value for name, value in HEADERS_DECODER.decode(own or b"{}").items()}
    check_headers(given)
    check_headers(endpoint.headers)
    names = endpoint.hook.names
    signed = (names.id, names.timestamp, names.signature)
    for name in signed:
        check_header(name)
    headers = {**JSON, **given, **endpoint.headers}
    headers = {name: value for name, value in headers.items() if name not in signed}
    hidden = {name: HIDDEN for name in given if SECRET.search(name)}
    shown = ENCODE({**headers, **hidden, **endpoint.shown}).removesuffix(b"}")
    wire = written("POST", target, headers)
    secrets = [headers[name] for name in (*hidden, *endpoint.shown) if name in headers]
    return Beginning(endpoint, wire, shown + b"," if headers else shown, _telling(secrets))


def _telling(secrets: list[str]) -> tuple[bytes, ...]:
    """Return secret values, and the longest part of each: a token behind its scheme, a cookie
    behind its name. There are at most two per value, since every answer is searched for them."""
    parts = {part for value in secrets for part in (value, max(PARTS.split(value), key=len))}
    long = [part.encode() for part in parts if len(part) >= TELLING_CHARACTERS]
    return tuple(sorted(long, key=len, reverse=True))


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse names and values that HTTP cannot carry, and names that Postroad or the connection
    sets."""
    if len(headers) > HEADERS_MAX:
        raise BadInput(f"{len(headers)} headers: at most {HEADERS_MAX}")
    for name, value in headers.items():
        check_header(name, value)
        if name.lower() in OURS or name.lower().startswith("webhook-"):
            raise BadInput(f"header {name!r} is set by Postroad itself")


def check_header(name: str, value: str = "") -> None:
    """Refuse a name or a value that HTTP cannot carry."""
    _ = checked("a header's name", name, HEADER_NAME_MAX)  # whether it is short enough
    _ = checked(f"header {name!r}", value, HEADER_VALUE_MAX)  # the same
    if not TOKEN.fullmatch(name) or not VALUE.fullmatch(value):
        raise BadInput(f"header {name[:100]!r} cannot be sent: ASCII, no line ends")
