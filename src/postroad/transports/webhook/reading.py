"""HTTP/1.1 answers, read as they come: bounded memory, bounded work."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

ANSWER_BYTES_MAX: Final = 64 << 10
HEAD_BYTES_MAX: Final = 64 << 10
HEADERS_MAX: Final = 256
CHUNK_LINE_MAX: Final = 256
TRAILERS_BYTES_MAX: Final = 4 << 10
STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: [^\0]*)?")
HEADER: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\0]*?)[ \t]*")
CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
LINE: Final = re.compile(rb"\r?\n")
HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
TRAILERS_END: Final = re.compile(rb"(?:[^\r\n]+\r?\n)*\r?\n")
TO_THE_END: Final = -1


class BadAnswer(Exception):
    """What came is no answer. `fault`: its class in the log."""

    def __init__(self, fault: str, said: str) -> None:
        super().__init__(said)
        self.fault = fault


class Head(Struct, frozen=True):
    """Status, headers with names in lower case, and how the body ends."""

    status: int
    headers: Mapping[str, str]
    length: int
    """Of the body; -1 where it ends with its connection, or by chunks."""
    chunked: bool
    reusable: bool


def plain(data: bytes) -> tuple[int, bytes, bool] | None:
    """Status and body of a success that came whole in one piece, as most do, and whether its
    connection can be used again. None for all others: a Reader takes ten times as long."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or data[:10] != b"HTTP/1.1 2" or data[12:13] != b" ":
        return None
    head, body = data[:end].lower(), data[end + 4 :]
    before, _, after = head.partition(b"\r\ncontent-length:")
    if b"\r\ntransfer-encoding" in head or b"\r\ncontent-length" in after:
        return None
    if after.partition(b"\r\n")[0].strip() != b"%d" % len(body) or not before[9:12].isdigit():
        return None
    return int(before[9:12]), body, b"\r\nconnection:" not in head or _goes_on(head)


def _goes_on(head: bytes) -> bool:
    told = head.split(b"\r\nconnection:")[1:]
    return not any(b"close" in one.partition(b"\r\n")[0] for one in told)


class Reader:
    """One answer. Of its body so much is kept and read, so that its connection can be used again;
    more is not waited for."""

    def __init__(self, most: int = ANSWER_BYTES_MAX) -> None:
        self.head: Head | None = None
        self.body = bytearray()
        self._most = most
        self.too_much = False
        """It was not read to its end."""
        self._held = bytearray()
        self._raw = self._searched = 0
        self._left = TO_THE_END
        """Of the body or of a chunk; 0: only the line end behind a chunk."""
        self._last = False
        """The last chunk has come."""

    @property
    def reusable(self) -> bool:
        """Whether the connection of an answer that was read can be used again."""
        return bool(self.head and self.head.reusable and not self.too_much and not self._held)

    def read(self, data: bytes) -> bool:
        """Take what came; True when that is all, or enough. BadAnswer when it is no answer."""
        self._raw += len(data)
        self._held += data
        if self.head is None and not self._read_head():
            return False
        if self._read_chunks() if self.head and self.head.chunked else self._read_body():
            return True
        # A body of one-byte chunks is longer than it says.
        raw_most = HEAD_BYTES_MAX + 2 * self._most
        self.too_much = len(self.body) >= self._most or self._raw > raw_most
        return self.too_much

    def ends(self) -> bool:
        """The connection has ended; True when the answer ends so."""
        head = self.head
        return head is not None and not head.chunked and head.length == TO_THE_END

    def _read_head(self) -> bool:
        while self.head is None:  # a 1xx is followed by another one
            found = HEAD_END.search(self._held, max(0, self._searched - 3))
            if found is None or found.end() > HEAD_BYTES_MAX:
                self._searched = len(self._held)
                if self._raw > HEAD_BYTES_MAX:
                    raise BadAnswer("answer_too_large", "more than 64 KiB")
                return False
            head = read_head(bytes(self._held[: found.start()]))
            del self._held[: found.end()]
            self._searched = 0
            if head.status == 101:
                raise BadAnswer("protocol", "another protocol, unasked")
            self.head = head if head.status >= 200 else None
            self._left = head.length
        return True

    def _read_body(self) -> bool:
        if self._left == TO_THE_END:
            self._keep(len(self._held))
            return False
        size = min(self._left, len(self._held))
        self._keep(size)
        self._left -= size
        return self._left == 0

    def _read_chunks(self) -> bool:
        held = self._held
        while not self._last:
            if self._left > 0:
                size = min(self._left, len(held))
                self._keep(size)
                self._left -= size
                if self._left:
                    return False
            if self._left == 0:
                end = LINE.match(held)
                if end is None:
                    return self._need(2)
                del held[: end.end()]
                self._left = TO_THE_END
            line = CHUNK.match(held)
            if line is None:
                return self._need(CHUNK_LINE_MAX)
            self._left = int(line[1], 16)
            del held[: line.end()]
            self._last = self._left == 0
        end = TRAILERS_END.match(held)
        if end is not None:
            del held[: end.end()]
        # They are read from their beginning for each piece that comes: nobody needs many.
        self.too_much = end is None and len(held) >= TRAILERS_BYTES_MAX
        return end is not None or self.too_much

    def _need(self, most: int) -> bool:
        """A line is to come that is no longer than that."""
        if b"\n" in self._held or len(self._held) >= most:
            raise BadAnswer("protocol", "bad chunks")
        return False

    def _keep(self, size: int) -> None:
        self.body += self._held[: min(size, self._most - len(self.body))]
        del self._held[:size]


def read_head(text: bytes) -> Head:
    """A whole head, without the empty line; BadAnswer when it can be read in two ways, or none."""
    first, *lines = LINE.split(text)
    start = STATUS.fullmatch(first)
    if start is None:
        raise BadAnswer("protocol", "not HTTP/1.1")
    if len(lines) > HEADERS_MAX:
        raise BadAnswer("answer_too_large", f"more than {HEADERS_MAX} headers")
    headers: dict[str, str] = {}
    closes = start[1] == b"0"
    lengths, codings = set(), []
    for line in lines:
        parts = HEADER.fullmatch(line)
        if parts is None:
            raise BadAnswer("protocol", "a header that is none")
        name, value = parts[1].decode().lower(), parts[2].decode("latin-1")
        headers.setdefault(name, value)
        if name == "content-length":
            lengths.add(value)
        elif name == "transfer-encoding":
            codings.append(value.lower())
        elif name == "connection":
            closes = closes or "close" in value.lower()
    status = int(start[2])
    chunked = codings == ["chunked"]
    if status < 200 or status in (204, 304):
        return Head(status, headers, 0, chunked=False, reusable=not closes)
    if codings:  # with a length beside it somebody lies: never used again
        return Head(status, headers, TO_THE_END, chunked, not (closes or lengths) and chunked)
    length = _length(lengths)
    reusable = not closes and length != TO_THE_END
    return Head(status, headers, length, chunked=False, reusable=reusable)


def _length(told: set[str]) -> int:
    if not told:
        return TO_THE_END
    (first, *others) = told
    if others or not (first.isascii() and first.isdigit() and len(first) < 19):
        raise BadAnswer("protocol", "more than one length")
    return int(first)
