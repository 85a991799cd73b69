"""One WebSocket: it decodes commands and sends answers, and its memory is bounded."""

from typing import Final

from picows import WSCloseCode, WSFrame, WSListener, WSMsgType, WSTransport

from postroad.hub.commands import Commands
from postroad.hub.deadlines import ConnectionDeadlines, CountWrongTokens
from postroad.hub.frames import Codec, Error, Event, Subscribed, Watching
from postroad.hub.pings import Pings
from postroad.hub.pump import Hub
from postroad.model.mailbox import RefusalCode

HIGH_BYTES: Final = 64 * 1024
LOW_BYTES: Final = 16 * 1024
BIG_BYTES: Final = 2_048
CLOSE_MS: Final = 1_000
"""How long the other side may take to read why it was closed."""
DATA: Final = (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION)
BAD_MANNERS: Final = 1008
EMPTY_MAX: Final = 100
"""Empty frames of one message: they cost as much as others, and there is no end to them."""
PARTS: Final = 256
REST_MS: Final = 1
"""After so many frames of one message others have their turn."""


class WebSocketSession(WSListener):
    """A client's connection. It has no task and no timer of its own."""

    def __init__(
        self,
        hub: Hub,
        commands: Commands,
        codec: Codec,
        wrong: CountWrongTokens,
        deadlines: ConnectionDeadlines,
    ) -> None:
        self._hub = hub
        self._wrong = wrong
        self._deadlines = deadlines
        self._commands = commands
        self._codec = codec
        self._kind = WSMsgType.BINARY if codec.binary else WSMsgType.TEXT
        self._parts: bytearray | None = None
        """What has come of a message in several frames. (As bytes, each small one would copy all
        that came before.)"""
        self._parts_count = self._empty = 0
        self._pings = Pings()
        self._deferred: list[bytes] = []
        self._unanswered = 0
        self._errors = 0
        self._reading_paused = False

    # What picows calls

    def on_ws_connected(self, transport: WSTransport) -> None:
        """The handshake is done."""
        self._transport = transport
        transport.underlying_transport.set_write_buffer_limits(HIGH_BYTES, LOW_BYTES)
        self._client = self._hub.core.connect(self)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """Handle a frame, or a part of a message."""
        if frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(WSCloseCode.OK)
            transport.disconnect()
            if self.buffered():  # that would wait for it for ever
                _ = self._hub.clock.later(CLOSE_MS, transport.underlying_transport.abort)
            return
        if self._client.gone:
            return
        if frame.msg_type not in DATA:
            self._control(frame)
            return
        payload = frame.get_payload_as_bytes()
        if self._parts is None and frame.fin:
            self._take(payload)
        else:
            self._gather(payload, last=frame.fin)

    def _control(self, frame: WSFrame) -> None:
        if self._pings.are_too_many(self._hub.clock.steady_s()):
            self.close(BAD_MANNERS, "too many pings")
        elif frame.msg_type == WSMsgType.PING:
            self._transport.send_pong(frame.get_payload_as_bytes())

    def _gather(self, payload: bytes, *, last: bool) -> None:
        if self._parts is None or last:
            self._deadlines.set_deadline(self, None if last else self._hub.limits.request_s)
            self._parts_count = self._empty = 0
        parts = bytearray() if self._parts is None else self._parts
        parts += payload
        self._parts = None if last else parts
        self._parts_count += 1
        self._empty += not payload
        if self._empty > EMPTY_MAX:
            self._parts = None
            self.close(BAD_MANNERS, "the message has too many empty parts")
        elif len(parts) > self._hub.limits.frame_bytes_max:
            self._parts = None
            self.close(1009, "the message is too large")
        elif last:
            self._take(bytes(parts))
        elif self._parts_count % PARTS == 0:
            self._transport.underlying_transport.pause_reading()
            _ = self._hub.clock.later(REST_MS, self._read_on)  # it is not taken back

    def _read_on(self) -> None:
        if not (self._reading_paused or self._client.gone):
            self._transport.underlying_transport.resume_reading()

    def on_ws_disconnected(self, transport: WSTransport) -> None:  # noqa: ARG002
        """The connection ended."""
        self._deadlines.set_deadline(self, None)
        self._hub.deferred.pop(self, None)
        self._hub.core.disconnect(self._client)

    def deadline_passed(self) -> None:
        """The rest of a message did not arrive in time."""
        self.close(BAD_MANNERS, "the message took too long")

    def pause_writing(self) -> None:
        """The client does not read."""
        self._hub.core.pause(self._client)
        self._update_reading()
        self._hub.wake()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._hub.core.resume(self._client)
        self._update_reading()
        self._hub.wake()

    # What the core calls

    def put(self, frame: Event) -> None:
        """Write a frame. What the client does not read waits in the transport's buffer."""
        if not self._client.gone:
            self._transport.send(self._kind, self._codec.encode(frame))

    def buffered(self) -> int:
        """How many bytes the client has not read yet."""
        return self._transport.underlying_transport.get_write_buffer_size()

    def close(self, code: int, reason: str) -> None:
        """Close the connection, whether or not the client reads."""
        if not self._client.gone:
            self._hub.core.disconnect(self._client)
            self._transport.send_close(WSCloseCode(code), reason.encode())
            if code == BAD_MANNERS:  # what else it has sent is not read
                self._transport.underlying_transport.pause_reading()
            # It is not taken back.
            _ = self._hub.clock.later(CLOSE_MS, self._transport.underlying_transport.abort)

    # Commands

    def _take(self, payload: bytes) -> None:
        if self._deferred or (len(payload) > BIG_BYTES and self._hub.core.lookups_full):
            self._deferred.append(payload)
            self._hub.deferred[self] = None
            self._update_reading()
        else:
            self._do(payload)

    def resume_frames(self) -> None:
        """Handle frames that were deferred while too many subscriptions were looked up."""
        while self._deferred and not self._hub.core.lookups_full and not self._client.gone:
            self._do(self._deferred.pop(0))
        if self._deferred and not self._client.gone:
            self._hub.deferred[self] = None
        self._update_reading()

    def _do(self, payload: bytes) -> None:
        asked = self._codec.command(payload)
        self._unanswered += 1
        if isinstance(asked, Error):
            self._answer(asked)
        else:
            self._commands.execute(self._client, asked, self._answer)
            self._hub.wake()
        if self._unanswered >= self._hub.limits.commands_max:
            self._update_reading()

    def _answer(self, frame: Event) -> None:
        self._unanswered -= 1
        self.put(frame)
        if isinstance(frame, Error):
            self._errors += 1
            if self._errors > self._hub.limits.errors_max:
                self.close(BAD_MANNERS, "too many errors")
        if (count := _denied(frame)) and self._wrong(count):
            self.close(BAD_MANNERS, "too many wrong tokens: wait a minute")
        if self._reading_paused:
            self._update_reading()

    def _update_reading(self) -> None:
        """Read from the client only while it reads, and while its commands are answered."""
        most = self._hub.limits.commands_max // (2 if self._reading_paused else 1)
        pause = not self._client.writable or self._unanswered >= most or bool(self._deferred)
        if pause == self._reading_paused or self._client.gone:
            return
        self._reading_paused = pause
        if pause:
            self._transport.underlying_transport.pause_reading()
        else:
            self._transport.underlying_transport.resume_reading()


def _denied(frame: Event) -> int:
    """How many wrong tokens an answer reports."""
    if isinstance(frame, Subscribed | Watching):
        return len(frame.refused)
    return int(isinstance(frame, Error) and frame.code == RefusalCode.denied)
