"""Assembles a message from its frames."""

from collections.abc import Callable
from typing import Final

from postroad.stores.rabbitmq.wire.frames import NUMBER
from postroad.stores.rabbitmq.wire.properties import Delivery

BODY_BYTES_MAX: Final = 512 << 20
"""No broker accepts a larger body."""
Take = Callable[[Delivery], None]


def read_deliver(data: bytes, at: int) -> tuple[bytes, Delivery]:
    """Parse a basic.deliver: the consumer's tag, and the delivery without its content."""
    at, consumer = _short(data, at)
    tag, again = NUMBER.unpack_from(data, at)[0], data[at + 8]
    at, exchange = _short(data, at + 9)
    _, key = _short(data, at)
    return consumer, Delivery(tag, again & 1 == 1, exchange.decode(), key.decode(), b"", b"")


def _short(data: bytes, at: int) -> tuple[int, bytes]:
    end = at + 1 + data[at]
    return end, data[at + 1 : end]


class IncomingMessage:
    """The message that is arriving on a channel. There is at most one at a time."""

    def __init__(self) -> None:
        self._take: Take | None = None
        self._message: Delivery | None = None
        self._missing = 0
        self._pieces: list[bytes] = []

    def expect(self, message: Delivery, take: Take) -> None:
        """Begin a message. `take` is called when its header and body have arrived."""
        self._message, self._take = message, take

    def on_header(self, data: bytes, at: int, stop: int) -> None:
        """Read the size of the body, and the properties."""
        if self._message is None:
            raise ValueError("properties without a message")
        self._missing = NUMBER.unpack_from(data, at + 4)[0]
        if self._missing > BODY_BYTES_MAX:
            raise ValueError(f"a body of {self._missing} bytes")
        self._message.packed = data[at + 12 : stop]
        if self._missing == 0:
            self._arrived(b"")

    def on_body(self, data: bytes, at: int, stop: int) -> None:
        """Add a body frame. Most messages have one."""
        self._missing -= stop - at
        piece = data[at:stop]
        if self._missing > 0:
            self._pieces.append(piece)
        elif self._pieces:
            self._pieces.append(piece)
            pieces, self._pieces = self._pieces, []
            self._arrived(b"".join(pieces))
        else:
            self._arrived(piece)

    def _arrived(self, body: bytes) -> None:
        message, take = self._message, self._take
        if message is None or take is None:
            raise ValueError("a body without a message")
        self._message = self._take = None
        message.body = body
        take(message)
