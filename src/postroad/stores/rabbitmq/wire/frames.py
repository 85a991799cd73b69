"""Encodes the frames that are sent for every message."""

from struct import Struct
from typing import Final

from pamqp import frame as pamqp_frame

END: Final = 0xCE
METHOD, HEADER, BODY = 1, 2, 3
PREFACE: Final = b"AMQP\x00\x00\x09\x01"
HEARTBEAT: Final = b"\x08\x00\x00\x00\x00\x00\x00\xce"

DELIVER: Final = 60 << 16 | 60
ACK: Final = 60 << 16 | 80
NACK: Final = 60 << 16 | 120

FRAME: Final = Struct(">BHI")  # kind, channel, size
INDEX: Final = Struct(">I")  # class and method
NUMBER: Final = Struct(">Q")
SETTLE: Final = Struct(">QB")  # tag, flags
_SETTLING: Final = Struct(">BHIIQBB")
_PUBLISH: Final = Struct(">IH")
_CONTENT: Final = Struct(">BHIHHQ")  # frame, class, weight, size of the body
_NEXT: Final = Struct(">BBHI")  # the end of a frame and the head of the next


COLD_BYTES_MAX: Final = 4_096
"""A broker may send this much before the frame size is negotiated; later methods are shorter."""


def cold(data: bytes, at: int, stop: int) -> object:
    """Parse any other method with pamqp. It copies the rest of a table for each field, which takes
    quadratic time, so long methods are refused."""
    if stop - at > COLD_BYTES_MAX:
        raise ValueError(f"a method of {stop - at} bytes")
    return pamqp_frame.unmarshal(data[at - 7 : stop + 1])[2]


def settling(channel: int, index: int, tag: int, flags: int) -> bytes:
    """Encode an ack (flag 1: of all tags up to it) or a nack (flag 2: requeue)."""
    return _SETTLING.pack(METHOD, channel, 13, index, tag, flags, END)


def publish_head(channel: int, exchange: str, key: str, *, mandatory: bool) -> bytes:
    """Encode the method frame of a publish."""
    target, route = exchange.encode(), key.encode()
    if len(target) > 255 or len(route) > 255:
        raise ValueError("an exchange or routing key is over 255 bytes")
    payload = b"".join(
        (
            _PUBLISH.pack(60 << 16 | 40, 0),
            bytes((len(target),)),
            target,
            bytes((len(route),)),
            route,
            b"\x01" if mandatory else b"\x00",
        )
    )
    return FRAME.pack(METHOD, channel, len(payload)) + payload + b"\xce"


def content(channel: int, packed: bytes, body: bytes, payload_max: int) -> bytes:
    """Encode the header and body frames of a message."""
    size = len(body)
    head = _CONTENT.pack(HEADER, channel, len(packed) + 12, 60, 0, size) + packed
    if size == 0:
        return head + b"\xce"
    if size <= payload_max:
        return b"".join((head, _NEXT.pack(END, BODY, channel, size), body, b"\xce"))
    parts = [head]
    for at in range(0, size, payload_max):
        piece = body[at : at + payload_max]
        parts += (_NEXT.pack(END, BODY, channel, len(piece)), piece)
    parts.append(b"\xce")
    return b"".join(parts)
