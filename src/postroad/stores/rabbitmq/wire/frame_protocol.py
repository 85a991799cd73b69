"""Splits the bytes of a connection into frames, and joins the writes of a turn of the loop."""

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
"""This many bytes are written before the turn ends, so that the broker starts on a burst of
publishes while the rest is being encoded. At 8 KiB a message took a fifth more CPU."""


class FrameReader(Protocol):
    """Receives the frames of one channel."""

    def on_method(self, data: bytes, at: int, stop: int) -> None:
        """Read a method frame; its payload is data[at:stop]."""

    def on_header(self, data: bytes, at: int, stop: int) -> None:
        """Read a header frame."""

    def on_body(self, data: bytes, at: int, stop: int) -> None:
        """Read a body frame."""

    def drain(self, out: list[bytes]) -> None:
        """Add the frames that were gathered for the end of the turn."""


class FrameProtocol(asyncio.Protocol):
    """The asyncio protocol of a connection. It never waits and starts no task."""

    def __init__(self, where: str, on_end: Callable[[StoreError], None]) -> None:
        self.readers: dict[int, FrameReader] = {}
        self.received = self.wrote = False
        self.frame_max = FRAME_MAX
        self.can_write = asyncio.Event()
        self.gone = asyncio.Event()
        self._where = where
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        """The beginning of an incomplete frame."""
        self._whole = 0
        """The length of that frame; of its head while that is incomplete."""
        self._out: list[bytes] = []
        self._size = 0
        self._gathering: dict[FrameReader, None] = {}
        self._due = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the protocol header."""
        self._transport = cast("asyncio.Transport", transport)
        # Above this limit `can_write` is off: enough for the publishes of a turn, not for more.
        self._transport.set_write_buffer_limits(high=4 * 1024 * 1024)
        self.can_write.set()
        self._transport.write(PREFACE)

    def data_received(self, data: bytes) -> None:
        """Split the received bytes into frames, and hand each to its channel."""
        self.received = True
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
                continue  # we closed that channel
            if kind == METHOD:
                reader.on_method(data, start, stop)
            elif kind == HEADER:
                reader.on_header(data, start, stop)
            elif kind == BODY:
                reader.on_body(data, start, stop)
        self._keep(data[at:])

    def _keep(self, data: bytes) -> None:
        """Keep the beginning of a frame. Its length is known once its head is complete."""
        if not data:
            return
        self._rest += data
        head = len(self._rest) >= FRAME.size
        size = FRAME.unpack_from(self._rest)[2] if head else 0
        self._whole = 8 + (size if size <= self.frame_max else 0)  # a larger one is refused

    def _joined(self, data: bytes) -> bytes:
        """Join a frame that arrives in pieces once it is complete, so that this is linear."""
        if len(self._rest) + len(data) < self._whole:
            self._keep(data)
            return b""
        whole = bytes(self._rest) + data
        self._rest.clear()
        return whole

    def send(self, data: bytes) -> None:
        """Write data in this turn, together with everything else."""
        self._out.append(data)
        self._size += len(data)
        if self._size >= BURST:
            self.flush()
        elif not self._due:
            self._due = True
            self._loop.call_soon(self.flush)

    def gather(self, reader: FrameReader) -> None:
        """Call the reader's `drain` at the end of this turn."""
        self._gathering[reader] = None
        if not self._due:
            self._due = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write everything that was sent in this turn."""
        self._write_to(self._transport)

    def beat(self) -> None:
        """Send a heartbeat, unless something was written since the last one."""
        if not self.wrote:
            self.send(HEARTBEAT)
        self.wrote = False

    def pause_writing(self) -> None:
        """Called when the broker reads more slowly than we write."""
        self.can_write.clear()

    def resume_writing(self) -> None:
        """Called when the broker has caught up."""
        self.can_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the connection is lost."""
        self.gone.set()
        why = f" ({exc})" if exc else ""
        self.end(BrokerLost(f"{self._where}: the connection is lost{why}"))

    def end(self, error: StoreError) -> None:
        """Close the connection with an error; only the first error counts."""
        transport, self._transport = self._transport, None
        self._write_to(transport)
        self.can_write.set()
        if transport is not None:
            transport.close()
            self._on_end(error)

    def abort(self) -> None:
        """Drop the connection at once; buffered bytes are discarded."""
        if self._transport is not None:
            self._transport.abort()

    def _write_to(self, transport: asyncio.Transport | None) -> None:
        self._due = False
        for reader in self._gathering:
            reader.drain(self._out)
        self._gathering.clear()
        out, self._out, self._size = self._out, [], 0
        if out and transport is not None and not transport.is_closing():
            self.wrote = True
            transport.write(b"".join(out))

    def _not_amqp(self, data: bytes) -> None:
        if data.startswith(b"AMQP"):
            error: StoreError = ServerTooOld(f"{self._where} does not speak AMQP 0-9-1")
        else:
            error = BrokerLost(f"{self._where} does not speak AMQP: is this the broker's port?")
        self.end(error)
