"""One connection to the listener: reads commands and mails, and answers in their order."""

import asyncio
from typing import Final, Protocol, cast

from postroad.bounces.content import ContentReader, LineEnds
from postroad.bounces.dialogue import BYE, LINE_MAX, BounceDialogue, BounceHost

COMMAND_S: Final = 60.0
CONTENT_S: Final = 180.0
CONNECTION_S: Final = 900.0
CLOSE_S: Final = 5.0
"""A client that does not read its last word is cut off."""
MAILS_MAX: Final = 100
GO_ON: Final = "354"
BARE: Final = "521 5.5.2 a line ended with a bare CR or LF: nothing is taken"
LONG: Final = "500 5.5.6 line too long"
LATE: Final = "421 4.4.2 too slow: try again"
GOING: Final = "421 4.3.2 this server stops: try again later"
LARGE: Final = "552 5.3.4 too large"


class BounceIntake(Protocol):
    """Who knows all connections."""

    def now_s(self) -> float:
        """The steady time."""

    def joined(self, connection: "BounceConnection") -> str:
        """Count a connection; returns why it is refused, if it is."""

    def left(self, connection: "BounceConnection") -> None:
        """A connection has ended."""

    def store(self, connection: "BounceConnection", to: str, raw: bytes) -> None:
        """Store what a mail says, and then tell the connection the answer."""


class BounceConnection(asyncio.Protocol):
    """A client. While a mail of it is stored nothing more of it is read."""

    def __init__(self, host: BounceHost, intake: BounceIntake) -> None:
        self.dialogue = BounceDialogue(host)
        self._intake = intake
        self._buffer = bytearray()
        self._ends = LineEnds()
        self._content: ContentReader | None = None
        self.storing = False
        """Whether a mail is being stored."""
        self._mails = 0
        self._begun_s = intake.now_s()
        self._until_s = self._begun_s + COMMAND_S
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet, or refuse."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        refused = self._intake.joined(self)
        if refused:
            self.end(refused)
        else:
            self._write(self.dialogue.greeting)

    @property
    def peer(self) -> str:
        """The address that it comes from."""
        found = self._transport.get_extra_info("peername") if self._transport else None
        return found[0] if isinstance(found, tuple) else "nowhere"

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The connection ended. A mail that is being stored is stored all the same."""
        self._transport = None
        self._buffer.clear()
        self._intake.left(self)

    def data_received(self, data: bytes) -> None:
        """Take more of what the client says."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._ends.bare(data):
            self.end(BARE)
            return
        self._buffer += data
        self._work()

    def eof_received(self) -> bool:
        """The client says no more: its last mail is answered first."""
        return self.storing

    def answered(self, answer: str) -> None:
        """A mail was stored, or could not be: say so, and go on."""
        self.storing = False
        if self._transport is None or self._transport.is_closing():
            return
        self.dialogue.ended()
        self._write(answer)
        self._mails += 1
        if self._mails >= MAILS_MAX:
            self.end(BYE)
            return
        self._transport.resume_reading()
        self._work()

    def end_if_late(self, now_s: float) -> None:
        """End it when it is too slow."""
        if self.storing or now_s < min(self._until_s, self._begun_s + CONNECTION_S):
            return
        if self._transport is not None and self._transport.is_closing():
            self.cut()
        else:
            self.end(LATE)

    def end(self, word: str) -> None:
        """Say a last word, and close."""
        if self._transport is not None and not self._transport.is_closing():
            self._write(word)
            self._transport.close()
            self._until_s = self._intake.now_s() + CLOSE_S
        self._buffer.clear()

    def cut(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def _work(self) -> None:
        while self._transport is not None and not self.storing and not self.dialogue.over:
            if not (self._read_line() if self._content is None else self._read_content()):
                return

    def _read_line(self) -> bool:
        end = self._buffer.find(b"\r\n", 0, LINE_MAX)
        if end < 0:
            if len(self._buffer) >= LINE_MAX:
                self.end(LONG)
            return False
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        answer = self.dialogue.say(line)
        goes_on = answer.startswith(GO_ON)
        self._until_s = self._intake.now_s() + (CONTENT_S if goes_on else COMMAND_S)
        if self.dialogue.over:
            self.end(answer)
            return False
        if goes_on:
            self._content = ContentReader()
        self._write(answer)
        return True

    def _read_content(self) -> bool:
        content = self._content
        rest = content.read(bytes(self._buffer)) if content is not None else None
        self._buffer.clear()
        if content is None or content.endless:
            self.end(LARGE)
            return False
        if rest is None:
            return False
        self._buffer += rest
        self._content = None
        if content.too_large:  # read to its end: who is cut off sends it again and again
            self.dialogue.ended()
            self._until_s = self._intake.now_s() + COMMAND_S
            self._write(LARGE)
            return True
        self.storing = True
        self._until_s = self._intake.now_s() + COMMAND_S
        if self._transport is not None:
            self._transport.pause_reading()
        self._intake.store(self, self.dialogue.to, content.content)
        return False

    def _write(self, answer: str) -> None:
        if self._transport is not None:
            self._transport.write(f"{answer}\r\n".encode())
