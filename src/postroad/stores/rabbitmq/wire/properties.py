"""The properties of a message, and a delivery."""

from struct import Struct as Packed
from struct import error as Unpacked  # noqa: N812
from typing import Final

from msgspec import Struct, field

from postroad.stores.rabbitmq.wire.field_table import Value, read_table, write_table

PERSISTENT: Final = 2

_FLAGS: Final = Packed(">H")
_STAMP: Final = Packed(">Q")
# In wire order, with their flags. b: byte, T: timestamp, F: field table, s: short string.
_FIELDS: Final = (
    (0x8000, "content_type", "s"),
    (0x4000, "content_encoding", "s"),
    (0x2000, "headers", "F"),
    (0x1000, "delivery_mode", "b"),
    (0x0800, "priority", "b"),
    (0x0400, "correlation_id", "s"),
    (0x0200, "reply_to", "s"),
    (0x0100, "expiration", "s"),
    (0x0080, "message_id", "s"),
    (0x0040, "timestamp", "T"),
    (0x0020, "type", "s"),
    (0x0010, "user_id", "s"),
    (0x0008, "app_id", "s"),
    (0x0004, "cluster_id", "s"),
)


class Properties(Struct):
    """The properties that travel with a body. Messages are persistent by default."""

    headers: dict[str, Value] = field(default_factory=dict)
    message_id: str = ""
    content_type: str = ""
    content_encoding: str = ""
    delivery_mode: int = PERSISTENT
    priority: int = 0
    correlation_id: str = ""
    reply_to: str = ""
    expiration: str = ""
    timestamp: int = 0
    type: str = ""
    user_id: str = ""
    app_id: str = ""
    cluster_id: str = ""

    def pack(self) -> bytes:
        """Encode them for a header frame."""
        flags = 0
        parts = [b""]
        for flag, name, kind in _FIELDS:
            value = getattr(self, name)
            if not value:
                continue
            flags |= flag
            if kind == "s":
                text = value.encode()
                if len(text) > 255:
                    raise ValueError(f"{name} is over 255 bytes")
                parts.append(bytes((len(text),)) + text)
            elif kind == "b":
                parts.append(bytes((value,)))
            elif kind == "F":
                parts.append(write_table(value))
            else:
                parts.append(_STAMP.pack(value))
        parts[0] = _FLAGS.pack(flags)
        return b"".join(parts)


def unpack(data: bytes, at: int = 0) -> Properties:
    """Decode the properties of a header frame."""
    (flags,) = _FLAGS.unpack_from(data, at)
    at += 2
    found = Properties(delivery_mode=0)
    for flag, name, kind in _FIELDS:
        if not flags & flag:
            continue
        value: object
        if kind == "s":
            end = at + 1 + data[at]
            value, at = data[at + 1 : end].decode("utf-8", "surrogateescape"), end
        elif kind == "b":
            value, at = data[at], at + 1
        elif kind == "F":
            value, at = read_table(data, at)
        else:
            value, at = _STAMP.unpack_from(data, at)[0], at + 8
        setattr(found, name, value)
    return found


class Delivery(Struct, gc=False):
    """A message that the broker delivered. `packed` holds its properties, undecoded."""

    tag: int
    redelivered: bool
    exchange: str
    key: str
    packed: bytes
    body: bytes

    @property
    def properties(self) -> Properties:
        """The decoded properties, decoded at each call; empty when they are malformed."""
        try:
            return unpack(self.packed)
        except (IndexError, Unpacked, ValueError, ArithmeticError, RecursionError):
            return Properties(delivery_mode=0)
