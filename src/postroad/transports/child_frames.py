"""What an engine and a child process that calls a handler for it say to each other."""

import signal
import socket
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.entities import Message
from postroad.model.outcome import Outcome

SIZE_BYTES: Final = 4
READ_BYTES: Final = 65_536
CUT: Final = signal.SIGUSR1
"""What the engine sends to a child whose call is cut."""


class Start(Struct):
    """The first frame to a child: which handler it calls, and how this program was started."""

    queue: str
    module: str
    name: str
    timeout_ms: int
    result_ttl_ms: int
    preparation: dict[str, object]
    """What a spawned process of `multiprocessing` is given, so that `__main__` can be imported."""


class Ready(Struct, tag=True):
    """The child has imported its handler, or could not."""

    error: str = ""


class Beat(Struct, tag=True):
    """The handler called `heartbeat()`."""


class Reported(Struct, tag=True):
    """The handler told how far it has come."""

    done: float
    total: float
    note: str


class CallEnded(Struct, tag=True):
    """A call has ended. `trace` is that of the exception which the handler raised."""

    outcome: Outcome
    trace: str = ""


Said = Ready | Beat | Reported | CallEnded
STARTS: Final = msgspec.msgpack.Decoder(Start)
MESSAGES: Final = msgspec.msgpack.Decoder(Message)
SAID: Final = msgspec.msgpack.Decoder[Said](Said)
_encode: Final = msgspec.msgpack.Encoder().encode


def framed(what: Struct) -> bytes:
    """Write a frame: its size, then its content."""
    content = _encode(what)
    return len(content).to_bytes(SIZE_BYTES) + content


class Frames:
    """Reads frames from a pipe."""

    def __init__(self, pipe: socket.socket) -> None:
        self._pipe = pipe
        self._read = bytearray()

    def next(self) -> bytes:
        """Block until a whole frame is here; raise EOFError when the other side is gone."""
        while (frame := taken(self._read)) is None:
            more = self._pipe.recv(READ_BYTES)
            if not more:
                raise EOFError
            self._read += more
        return frame


def taken(read: bytearray) -> bytes | None:
    """Take the first frame of what was read, when it is whole."""
    size = SIZE_BYTES + int.from_bytes(read[:SIZE_BYTES])
    if len(read) < max(size, SIZE_BYTES + 1):
        return None
    frame = bytes(read[SIZE_BYTES:size])
    del read[:size]
    return frame
