"""Answers are read as another library reads them, however they come in pieces."""

import itertools

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.transports.webhook.reading import (
    ANSWER_BYTES_MAX,
    HEAD_BYTES_MAX,
    BadAnswer,
    Reader,
    plain,
)

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
    assert reader.head is not None
    assert done or reader.ends()
    assert (reader.head.status, bytes(reader.body)) == by_h11(data)
    assert reader.reusable == (done and b"connection: close" not in data.lower())


@given(answers())
def test_the_short_way_reads_the_same(data: bytes) -> None:
    short = plain(data)
    if short is not None:
        reader = Reader()
        assert reader.read(data)
        assert reader.head is not None
        assert short == (reader.head.status, bytes(reader.body), reader.reusable)


def test_the_usual_answer_takes_the_short_way() -> None:
    said = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 2\r\nConnection: Close\r\n\r\nok"
    assert plain(said) == (200, b"ok", False)
    assert plain(said + b"more") is None


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
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 300 + b"\r\n", "answer_too_large"),
        (b"HTTP/1.1 200 OK\r\na: " + b"b" * HEAD_BYTES_MAX, "answer_too_large"),
        (b"HTTP/1.1 103 Early\r\n\r\n" * 4_000, "answer_too_large"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffff\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nokok\r\n", "protocol"),
    ],
)
def test_what_is_no_answer_is_called_so(said: bytes, fault: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        Reader().read(said)
    assert caught.value.fault == fault


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


def test_trailers_without_end_are_not_read_over_and_over() -> None:
    """A server that sends them byte by byte would have each read from their beginning."""
    reader = Reader()
    reader.read(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n")
    pieces = itertools.chain.from_iterable(itertools.repeat(b"x-more: y\r\n"))
    read = next(n for n, byte in enumerate(pieces) if reader.read(bytes([byte])))
    assert read <= 4_096
    assert bytes(reader.body) == b"ok"
    assert not reader.reusable
