"""SMTP replies, read from what a server sends: in bounded memory and linear time."""

import re
from typing import Final

from msgspec import Struct

from postroad.model.foreign import clean

LINE_BYTES_MAX: Final = 4_096
"""RFC 5321 allows 512; servers that explain themselves write more."""
LINES_MAX: Final = 256
REPLY_BYTES_MAX: Final = 32 << 10
TEXT_CHARACTERS_MAX: Final = 1_000
LINE: Final = re.compile(rb"([2-5][0-9][0-9])(?:([ -])([^\r\n]*))?")
ENHANCED: Final = re.compile(r"([245]\.[0-9]{1,3}\.[0-9]{1,3})(?: |$)")


class BadReply(Exception):
    """What came is no SMTP reply, or more than anybody has to read."""


class SmtpReply(Struct, frozen=True, gc=False):
    """What a server answers to one command."""

    code: int
    lines: tuple[bytes, ...] = ()
    """What follows the code in each line."""

    @property
    def good(self) -> bool:
        """Whether the command was done, or goes on."""
        return self.code < 400

    @property
    def enhanced(self) -> str:
        """The enhanced code of RFC 3463, as 5.1.1; empty when there is none."""
        found = ENHANCED.match(self.lines[0].decode("latin-1")) if self.lines else None
        return found[1] if found and found[1][0] == str(self.code)[0] else ""

    @property
    def text(self) -> str:
        """All of it as one line, with the codes; the enhanced code stands there once."""
        enhanced = self.enhanced
        texts = [line.decode("utf-8", "replace").strip() for line in self.lines]
        said = [text.removeprefix(enhanced).strip() for text in texts]
        words = filter(None, (str(self.code), enhanced, *said))
        return clean(" ".join(words), TEXT_CHARACTERS_MAX)


class ReplyReader:
    """Makes replies of the bytes of one connection."""

    __slots__ = ("_code", "_held", "_lines", "_searched", "_size")

    def __init__(self) -> None:
        self._held = bytearray()
        self._searched = 0
        self._lines: list[bytes] = []
        self._code = b""
        self._size = 0

    @property
    def pending(self) -> bool:
        """Whether something came that belongs to no reply that was read."""
        return bool(self._held or self._lines)

    @property
    def rest(self) -> str:
        """The beginning of what came and belongs to no reply that was read."""
        held = b" ".join((*self._lines, bytes(self._held[:200])))
        return clean(held.decode("utf-8", "replace").strip(), 200)

    def read(self, data: bytes, most: int) -> list[SmtpReply]:
        """Take what came, and return the replies that are whole now, at most so many. Raises
        BadReply."""
        held = self._held
        held += data
        replies: list[SmtpReply] = []
        begin = 0
        while len(replies) < most and (end := held.find(b"\n", self._searched)) >= 0:
            reply = self._line(bytes(held[begin:end]))
            begin = self._searched = end + 1
            if reply is not None:
                replies.append(reply)
        del held[:begin]
        if len(replies) == most:
            self._searched = 0
            return replies
        self._searched = len(held)
        if len(held) > LINE_BYTES_MAX:
            raise BadReply(f"a line of more than {LINE_BYTES_MAX} bytes")
        return replies

    def _line(self, line: bytes) -> SmtpReply | None:
        found = LINE.fullmatch(line.removesuffix(b"\r")) if len(line) <= LINE_BYTES_MAX else None
        if found is None or (self._code and found[1] != self._code):
            raise BadReply(f"no SMTP reply: {clean(line[:80].decode('latin-1'))!r}")
        self._code = found[1]
        self._lines.append(found[3] or b"")
        self._size += len(line)
        if found[2] != b"-":
            reply = SmtpReply(int(found[1]), tuple(self._lines))
            self._code, self._lines, self._size = b"", [], 0
            return reply
        if len(self._lines) >= LINES_MAX or self._size > REPLY_BYTES_MAX:
            raise BadReply(f"a reply of more than {LINES_MAX} lines or {REPLY_BYTES_MAX} bytes")
        return None
