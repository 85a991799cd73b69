"""Answers are read as another library reads them, however they come in pieces."""

import itertools
from contextlib import suppress

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.transports.webhook.reading import (
    ANSWER_BYTES_MAX,
    HEAD_BYTES_MAX,
    BadAnswer,
    Reader,
)

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
BODIES = st.binary(max_size=300)
STATUSES = st.sampled_from([200, 201, 202, 204, 299, 301, 304, 404, 429, 500, 503])
EXTRAS = st.lists(
    st.sampled_from(
        [b"date: today", b"Server: x", b"x-odd: \xff\xe9", b"retry-after: 7", b"connection: close",
         b"Connection: keep-alive", b"x-empty:", b"x-spaced: \t a b \t"]
    ),
    max_size=4,
    unique=True,
)  # fmt: skip


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Any that a server may send: by length, by chunks, to the end, after some 1xx."""
    status, body, lines = draw(STATUSES), draw(BODIES), draw(EXTRAS)
    early = b"HTTP/1.1 103 Early\r\nlink: x\r\n\r\n" * draw(st.integers(0, 2))
    ending = draw(st.sampled_from(["length", "chunks", "end"]))
    if status in (204, 304):
        body, ending = b"", "none"
    if ending == "length":
        lines = [*lines, b"Content-Length: %d" % len(body)]
    elif ending == "chunks":
        lines = [*lines, b"Transfer-Encoding: chunked"]
        size = draw(st.integers(1, 50))
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        body = b"".join(b"%x;a=b\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        body += b"0\r\n" + draw(st.sampled_from([b"", b"x-trailer: 1\r\n"])) + b"\r\n"
    head = b"HTTP/1.1 %d Word\r\n%s" % (status, b"".join(line + b"\r\n" for line in lines))
    return early + head + b"\r\n" + body


def by_h11(data: bytes) -> tuple[int, bytes]:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    connection.receive_data(b"")
    status, body = 0, b""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return status, body


@given(answers(), st.lists(st.integers(1, 400), max_size=12))
def test_an_answer_is_what_another_library_reads(data: bytes, cuts: list[int]) -> None:
    reader, done = Reader(), False
    places = [0, *sorted({cut for cut in cuts if cut < len(data)}), len(data)]
    for start, end in itertools.pairwise(places):
        assert not done, "more came than was awaited"
        done = reader.read(data[start:end])
    assert done or reader.ends()
    assert (reader.status, bytes(reader.body)) == by_h11(data)
    assert reader.reusable == (done and b"connection: close" not in data.lower())


@given(st.lists(answers(), min_size=1, max_size=4))
def test_one_reader_reads_one_answer_after_the_other(said: list[bytes]) -> None:
    reader = Reader()
    for data in said:
        reader.begin(ANSWER_BYTES_MAX)
        done = reader.read(data)
        assert (reader.status, bytes(reader.body)) == by_h11(data)
        if not done or not reader.reusable:
            break


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (b"HTTP/2 200 OK\r\n\r\n", "protocol"),
        (b"HTTP/1.1 0200 OK\r\n\r\n", "protocol"),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: " + b"9" * 5_000 + b"\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\na: b\0c\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\na: " + b" " * 2_200 + b"\0\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\na : b\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok", "protocol"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nok", "protocol"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok", "protocol"),
        (b"HTTP/1.1 200 OK\n\n", "protocol"),
        (b"HTTP/1.1 099 OK\r\n\r\n", "protocol"),
        (b"HTTP/2.0 200 OK\r\n\r\n", "protocol"),
        (b"RTSP/1.0 200 OK\r\n\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 300 + b"\r\n", "answer_too_large"),
        (b"HTTP/1.1 200 OK\r\na: " + b"b" * HEAD_BYTES_MAX, "answer_too_large"),
        (b"HTTP/1.1 103 Early\r\n\r\n" * 4_000, "answer_too_large"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n",
            "protocol",
        ),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokok\r\n", "protocol"),
    ],
)
def test_what_is_no_answer_is_called_so(said: bytes, fault: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        Reader().read(said)
    assert caught.value.fault == fault


@pytest.mark.parametrize(
    "more", [b"x", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nothers"]
)
def test_a_connection_that_brings_more_than_was_asked_for_is_not_used_again(more: bytes) -> None:
    reader = Reader()
    assert reader.read(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok" + more)
    assert (reader.status, bytes(reader.body), reader.reusable) == (200, b"ok", False)


@pytest.mark.parametrize(
    "broken",
    [b"zz\r\n", b"0x2\r\nok\r\n", b"2\r\nokok\r\n", b"2\nok\n", b"f" * 17 + b"\r\n", b"-1\r\n"],
)
def test_of_an_answer_with_bad_chunks_the_status_has_come(broken: bytes) -> None:
    reader = Reader()
    with pytest.raises(BadAnswer):
        reader.read(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + broken)
    assert reader.status == 200


def test_a_length_beside_chunks_is_not_believed_and_the_connection_not_used_again() -> None:
    reader = Reader()
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n"
    assert reader.read(head + b"2\r\nok\r\n0\r\n\r\n")
    assert bytes(reader.body) == b"ok"
    assert not reader.reusable


@pytest.mark.parametrize("piece", [b"10000\r\n" + b"e" * 65_536 + b"\r\n", b"1\r\nx\r\n"])
def test_no_more_is_read_of_an_endless_answer(piece: bytes) -> None:
    reader = Reader()
    reader.read(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    read = 0
    while not reader.read(piece * 100):
        read += len(piece) * 100
    assert len(reader.body) <= ANSWER_BYTES_MAX
    assert read <= HEAD_BYTES_MAX + 2 * ANSWER_BYTES_MAX
    assert not reader.reusable


class Counting(Reader):
    """How often the parser calls, which is what an answer costs the loop."""

    calls = 0

    def on_body(self, data: bytes) -> None:
        self.calls += 1
        super().on_body(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.calls += 1
        super().on_header(name, value)


AT_ONCE = {
    "chunks of one byte": CHUNKED + b"1\r\nx\r\n" * 40_000,
    "chunks of eight": CHUNKED + b"8\r\nxxxxxxxx\r\n" * 20_000,
    "headers": b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 10_000 + b"\r\n",
    "answers before the answer": b"HTTP/1.1 103 Early\r\na: b\r\n\r\n" * 8_000,
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_a_socket_gives_at_once_is_read_in_few_steps(name: str) -> None:
    reader = Counting()
    with suppress(BadAnswer):
        assert reader.read(AT_ONCE[name])
    assert reader.calls <= 2_000
    assert not reader.reusable


def test_without_slices_all_of_a_large_piece_is_stepped_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("postroad.transports.webhook.reading.SLICE_BYTES", 1 << 30)
    reader = Counting()
    assert reader.read(AT_ONCE["chunks of one byte"])
    assert reader.calls > 40_000


@pytest.mark.parametrize(("more", "reusable"), [(b"", True), (b"x" * 10_000, False)])
def test_an_answer_that_is_read_in_slices_is_whole(more: bytes, *, reusable: bool) -> None:
    reader = Reader()
    assert reader.read(b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n" + b"y" * 9_000 + more)
    assert bytes(reader.body) == b"y" * 9_000
    assert reader.reusable is reusable


def test_trailers_without_end_are_not_read_over_and_over() -> None:
    """A server that sends them byte by byte would have each read from their beginning."""
    reader = Reader()
    reader.read(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n")
    pieces = itertools.chain.from_iterable(itertools.repeat(b"x-more: y\r\n"))
    read = next(n for n, byte in enumerate(pieces) if reader.read(bytes([byte])))
    assert read <= 4_096
    assert bytes(reader.body) == b"ok"
    assert not reader.reusable
