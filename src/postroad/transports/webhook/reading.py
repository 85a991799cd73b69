"""Reads HTTP/1.1 answers by llhttp as they come, with bounded memory and linear work (decision
071)."""

import re
from collections.abc import Mapping
from typing import Final

from httptools import HttpParserError, HttpResponseParser

ANSWER_BYTES_MAX: Final = 64 << 10
HEAD_BYTES_MAX: Final = 64 << 10
HEADERS_MAX: Final = 256
QUIET_BYTES_MAX: Final = 4 << 10
"""Maximum bytes of extensions and trailers that are read without a byte of the body between."""
SLICE_BYTES: Final = 4 << 10
"""What came is read in pieces of so much, each with a look whether it is enough: a socket gives up
to 256 KB at once, and as chunks of one byte these held up the loop for 22 ms (decision 045)."""
CHUNKS_MAX: Final = 1_000
"""Maximum pieces of a body that are read: each costs some 0.3 µs, however little it carries."""
HINTS_MAX: Final = 16
"""Answers before the answer (1xx): 2,000 of them took 10 ms."""
HEAD_END: Final = re.compile(rb"\n\r?\n")


class BadAnswer(Exception):
    """What came is not an HTTP answer. `fault` is its class in the log."""

    def __init__(self, fault: str, said: str) -> None:
        super().__init__(said)
        self.fault = fault


class Reader:
    """Reads the answers on one connection, one after the other. It keeps a bounded part of a body
    and reads on to its end, so that the connection can be used again; it waits for no more than
    that."""

    __slots__ = (
        "_body_at",
        "_chunks",
        "_fields",
        "_held",
        "_hints",
        "_most",
        "_parser",
        "_raw",
        "_searched",
        "_whole",
        "body",
        "reusable",
        "status",
    )

    def __init__(self, most: int = ANSWER_BYTES_MAX) -> None:
        self._parser = HttpResponseParser(self)
        # A length beside chunks is not believed (RFC 9112, 6.3), and the connection not used again.
        self._parser.set_dangerous_leniencies(lenient_chunked_length=True)
        self._held = bytearray()
        self.begin(most)

    def begin(self, most: int) -> None:
        """Prepare for the next answer."""
        self.status = 0
        """0 until the head has come; that of a 1xx before it does not count."""
        self.body: bytes | bytearray = b""
        self.reusable = self._whole = False
        """Whether the connection can be used again."""
        self._most = most
        self._fields: list[tuple[bytes, bytes]] = []
        self._searched = self._raw = self._body_at = self._hints = self._chunks = 0

    def close(self) -> None:
        """Free the parser: it and the reader refer to each other."""
        del self._parser

    @property
    def headers(self) -> Mapping[str, str]:
        """The first value of each header, by name in lower case."""
        found: dict[str, str] = {}
        for name, value in self._fields:
            found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1").strip())
        return found

    def read(self, data: bytes) -> bool:
        """Read what came; True when that is all, or enough. Raises BadAnswer when it is no
        answer."""
        if len(data) <= SLICE_BYTES:
            return self._read(data)
        for at in range(0, len(data), SLICE_BYTES):
            if self._read(data[at : at + SLICE_BYTES]):
                self.reusable = self.reusable and at + SLICE_BYTES >= len(data)
                return True
        return False

    def _read(self, data: bytes) -> bool:
        self._raw += len(data)
        # The whole head of a success lies at the beginning, as it mostly does.
        begins = data[:10] == b"HTTP/1.1 2" and 0 < data.find(b"\r\n\r\n") < HEAD_BYTES_MAX
        if self.status or (begins and not self._held):
            self._feed(data)
        else:
            self._gather(data)
        return self._whole or (self.status > 0 and self._is_enough())

    def ends(self) -> bool:
        """The connection has ended; True when that is how the answer ends."""
        told = self.headers
        chunked = told.get("transfer-encoding", "").lower().endswith("chunked")
        return bool(self.status) and not chunked and "content-length" not in told

    def _is_enough(self) -> bool:
        # A body of one-byte chunks is longer than it says.
        raw_most = HEAD_BYTES_MAX + 2 * self._most
        quiet = self._raw - self._body_at
        much = len(self.body) >= self._most or self._raw > raw_most
        return much or quiet > QUIET_BYTES_MAX or self._chunks > CHUNKS_MAX

    def _gather(self, data: bytes) -> None:
        """Collect a head before it is parsed: the parser would copy a header's pieces with each
        that comes."""
        held = self._held
        held += data
        while not self.status and (end := HEAD_END.search(held, max(0, self._searched - 2))):
            if end.end() > HEAD_BYTES_MAX:
                break
            head = bytes(held[: end.end()])
            del held[: end.end()]
            self._searched = 0
            if not head.lstrip(b"\r\n").startswith((b"HTTP/1.0 ", b"HTTP/1.1 ")):
                raise BadAnswer("protocol", "not HTTP/1.1")  # llhttp reads RTSP, ICE and 2.0 too
            self._feed(head)
        if self.status:
            rest = bytes(held)
            held.clear()
            self._feed(rest)
        elif self._raw > HEAD_BYTES_MAX:
            raise BadAnswer("answer_too_large", "more than 64 KiB")
        self._searched = len(held)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            if self._whole:
                self.reusable = False  # more than was asked for
            elif isinstance(error.__context__, BadAnswer):
                raise error.__context__ from None
            else:
                raise BadAnswer("protocol", str(error)) from None

    # What the parser tells

    def on_message_begin(self) -> None:
        """Another answer begins. It was not asked for if this one is complete."""
        self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the head, or of the trailers, which are not kept."""
        if not self.status:
            self._fields.append((name, value))
            if len(self._fields) > HEADERS_MAX:
                raise BadAnswer("answer_too_large", f"more than {HEADERS_MAX} headers")

    def on_headers_complete(self) -> None:
        """The head is complete; it may be that of a 1xx."""
        if self._whole:
            return
        status = self._parser.get_status_code()
        if status == 101:
            raise BadAnswer("protocol", "another protocol, unasked")
        if status < 100:
            raise BadAnswer("protocol", "no status")
        if status < 200:
            self._fields.clear()
            self._hints += 1
            if self._hints > HINTS_MAX:
                told = f"more than {HINTS_MAX} answers before the answer"
                raise BadAnswer("answer_too_large", told)
        else:
            self.status = status
            self._body_at = self._raw

    def on_chunk_header(self) -> None:
        """A chunk begins."""
        self._chunks += 1

    def on_body(self, data: bytes) -> None:
        """A piece of the body, mostly all of it."""
        if self._whole:
            return
        self._body_at = self._raw
        if not self.body:
            self.body = data[: self._most]
            return
        if isinstance(self.body, bytes):
            self.body = bytearray(self.body)
        self.body += data[: self._most - len(self.body)]

    def on_message_complete(self) -> None:
        """An answer is complete; it may be a 1xx."""
        if self.status and not self._whole:
            self._whole = True
            told_twice = self._chunks > 0 and "content-length" in self.headers
            self.reusable = self._parser.should_keep_alive() and not told_twice
