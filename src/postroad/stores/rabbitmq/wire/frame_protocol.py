"""The bytes of one connection: frames in, and few writes for all that a turn of the loop sends."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, cast

from postroad.model.errors import BrokerLost, ServerTooOld, StoreError
from postroad.stores.rabbitmq.wire.frames import (
    BODY,
    END,
    FRAME,
    HEADER,
    HEARTBEAT,
    METHOD,
    PREFACE,
)

FRAME_MAX: Final = 131_072
BURST: Final = 65_536
"""So many bytes are written before the turn is over: while a burst of publishes is still being
packed, the broker has begun with the first of them. At 8 KiB it took a fifth more CPU a message."""


class FrameReader(Protocol):
    """What takes the frames of one channel."""

    def on_method(self, data: bytes, at: int, stop: int) -> None:
        """A method; its payload is data[at:stop]."""

    def on_header(self, data: bytes, at: int, stop: int) -> None:
        """The properties of a message."""

    def on_body(self, data: bytes, at: int, stop: int) -> None:
        """A piece of its body."""

    def drain(self, out: list[bytes]) -> None:
        """Add what was gathered for the end of the turn."""


class FrameProtocol(asyncio.Protocol):
    """Cuts what comes into frames. Nothing here waits, and nothing is a task."""

    def __init__(self, place: str, on_end: Callable[[StoreError], None]) -> None:
        self.readers: dict[int, FrameReader] = {}
        self.heard = self.said = False
        self.frame_max = FRAME_MAX
        self.can_write = asyncio.Event()
        self.gone = asyncio.Event()
        self._where = place
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        """The beginning of a frame."""
        self._whole = 0
        """How long that frame is, or its head."""
        self._out: list[bytes] = []
        self._size = 0
        self._gathering: dict[FrameReader, None] = {}
        self._due = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there: say which protocol it is."""
        self._transport = cast("asyncio.Transport", transport)
        # Above it `can_write` is off: room for a turn's worth of publishes, not for a heap of them.
        self._transport.set_write_buffer_limits(high=4 * 1024 * 1024)
        self.can_write.set()
        self._transport.write(PREFACE)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self.heard = True
        if self._rest:
            data = self._joined(data)
        at, end = 0, len(data)
        while end - at >= 8:
            kind, number, size = FRAME.unpack_from(data, at)
            start = at + 7
            stop = start + size
            if size > self.frame_max:
                self._not_amqp(data)
                return
            if stop >= end:
                break
            if data[stop] != END:
                self.end(BrokerLost(f"{self._where} sent a broken frame"))
                return
            reader = self.readers.get(number)
            at = stop + 1
            if reader is None:
                continue  # of a channel that we closed
            if kind == METHOD:
                reader.on_method(data, start, stop)
            elif kind == HEADER:
                reader.on_header(data, start, stop)
            elif kind == BODY:
                reader.on_body(data, start, stop)
        self._keep(data[at:])

    def _keep(self, data: bytes) -> None:
        """The beginning of a frame: how long it is, is known when its head is there."""
        if not data:
            return
        self._rest += data
        head = len(self._rest) >= FRAME.size
        size = FRAME.unpack_from(self._rest)[2] if head else 0
        self._whole = 8 + (size if size <= self.frame_max else 0)  # nobody waits for a larger one

    def _joined(self, data: bytes) -> bytes:
        """A frame that comes in many pieces, when it is whole: each is looked at once."""
        if len(self._rest) + len(data) < self._whole:
            self._keep(data)
            return b""
        whole = bytes(self._rest) + data
        self._rest.clear()
        return whole

    def send(self, data: bytes) -> None:
        """Write it in this turn, with everything else."""
        self._out.append(data)
        self._size += len(data)
        if self._size >= BURST:
            self.flush()
        elif not self._due:
            self._due = True
            self._loop.call_soon(self.flush)

    def gather(self, reader: FrameReader) -> None:
        """Ask the reader at the end of this turn what it has to write."""
        self._gathering[reader] = None
        if not self._due:
            self._due = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write now what was sent in this turn."""
        self._write_to(self._transport)

    def beat(self) -> None:
        """A sign of life, unless something was written lately."""
        if not self.said:
            self.send(HEARTBEAT)
        self.said = False

    def pause_writing(self) -> None:
        """The broker reads more slowly than we write, or not at all."""
        self.can_write.clear()

    def resume_writing(self) -> None:
        """It caught up."""
        self.can_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.gone.set()
        why = f" ({exc})" if exc else ""
        self.end(BrokerLost(f"{self._where}: the connection is lost{why}"))

    def end(self, error: StoreError) -> None:
        """Close it, for that reason; only the first one counts."""
        transport, self._transport = self._transport, None
        self._write_to(transport)
        self.can_write.set()
        if transport is not None:
            transport.close()
            self._on_end(error)

    def abort(self) -> None:
        """Drop it without a word: what was not sent is not sent."""
        if self._transport is not None:
            self._transport.abort()

    def _write_to(self, transport: asyncio.Transport | None) -> None:
        self._due = False
        for reader in self._gathering:
            reader.drain(self._out)
        self._gathering.clear()
        out, self._out, self._size = self._out, [], 0
        if out and transport is not None and not transport.is_closing():
            self.said = True
            transport.write(b"".join(out))

    def _not_amqp(self, data: bytes) -> None:
        if data.startswith(b"AMQP"):
            error: StoreError = ServerTooOld(f"{self._where} does not speak AMQP 0-9-1")
        else:
            error = BrokerLost(f"{self._where} does not speak AMQP: is this the broker's port?")
        self.end(error)
