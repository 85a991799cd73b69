"""Receivers of webhooks that answer with whatever hurts, by name. Each is given a connection on which
a request has just been read, and ends when it has done its worst."""

import asyncio
from asyncio import StreamWriter
from collections.abc import Awaitable, Callable
from typing import Final

HEAD: Final = b"HTTP/1.1 200 OK\r\n"
CHUNKED: Final = b"transfer-encoding: chunked\r\n\r\n"
SLOW_S: Final = 0.5
FLOOD_BYTES: Final = 64 << 20
PIECE: Final = 64 << 10

Hostility = Callable[[StreamWriter], Awaitable[None]]


async def blanks_and_a_nul(line: StreamWriter) -> None:
    """A header pattern that tries all splits of the blanks takes seconds for this."""
    line.write(HEAD + b"x: a" + b" " * 2_200 + b"\0\r\ncontent-length: 0\r\n\r\n")


async def blanks_to_the_limit(line: StreamWriter) -> None:
    """The same in one long value."""
    line.write(HEAD + b"x: a" + b" " * 40_000 + b"b\r\ncontent-length: 0\r\n\r\n")


async def endless_headers(line: StreamWriter) -> None:
    """A head that never ends."""
    line.write(HEAD)
    await flood(line, b"x: y\r\n" * (PIECE // 6))


async def endless_body(line: StreamWriter) -> None:
    """A body that is longer than anybody reads."""
    line.write(HEAD + b"content-length: 99999999999\r\n\r\n")
    await flood(line, b"x" * PIECE)


async def one_byte_chunks(line: StreamWriter) -> None:
    """A body in pieces of one byte, each with a line of its own."""
    line.write(HEAD + CHUNKED)
    await flood(line, b"1\r\nx\r\n" * (PIECE // 6))


async def chunk_extensions(line: StreamWriter) -> None:
    """A line of a chunk that never ends."""
    line.write(HEAD + CHUNKED + b"1;")
    await flood(line, b"x=y;" * (PIECE // 4))


async def early_hints(line: StreamWriter) -> None:
    """Answers before the answer, without end."""
    await flood(line, b"HTTP/1.1 103 Early Hints\r\n\r\n" * 2_000)


async def drop_by_drop(line: StreamWriter) -> None:
    """A byte now and then: always alive, never done."""
    for byte in HEAD + b"x-slow: " + b"y" * 100:
        line.write(bytes([byte]))
        await line.drain()
        await asyncio.sleep(SLOW_S)


async def silence(_line: StreamWriter) -> None:
    """No answer at all."""
    await asyncio.sleep(3_600)


async def patience_of_ages(line: StreamWriter) -> None:
    """A Retry-After that no clock can add."""
    line.write(
        b"HTTP/1.1 429 No\r\nretry-after: " + b"9" * 4_000 + b"\r\ncontent-length: 0\r\n\r\n"
    )


async def deep_json(line: StreamWriter) -> None:
    """An answer whose body is brackets."""
    body = b"[" * 60_000
    line.write(b"HTTP/1.1 400 No\r\ncontent-length: %d\r\n\r\n" % len(body) + body)


async def texts_that_steer(line: StreamWriter) -> None:
    """A reason and a body with NULs, escapes and halves of characters."""
    body = b"\x00\x1b]0;owned\x07\xff\xed\xa0\x80" * 100
    line.write(b"HTTP/1.1 400 \x00\x1b[31m\r\ncontent-length: %d\r\n\r\n" % len(body) + body)


async def two_lengths(line: StreamWriter) -> None:
    """An answer that ends in two places."""
    line.write(HEAD + b"content-length: 1\r\ncontent-length: 5\r\n" + CHUNKED + b"0\r\n\r\n")


async def elsewhere(line: StreamWriter) -> None:
    """A redirect to this machine."""
    line.write(b"HTTP/1.1 307 No\r\nlocation: http://127.0.0.1:22/\r\ncontent-length: 0\r\n\r\n")


async def noise(line: StreamWriter) -> None:
    """No HTTP at all."""
    line.write(bytes(range(256)) * 256)


async def flood(line: StreamWriter, piece: bytes) -> None:
    """The same until the other side has had enough."""
    for _ in range(FLOOD_BYTES // len(piece)):
        line.write(piece)
        await line.drain()


RECEIVERS: Final[tuple[Hostility, ...]] = (
    blanks_and_a_nul,
    blanks_to_the_limit,
    endless_headers,
    endless_body,
    one_byte_chunks,
    chunk_extensions,
    early_hints,
    drop_by_drop,
    silence,
    patience_of_ages,
    deep_json,
    texts_that_steer,
    two_lengths,
    elsewhere,
    noise,
)
FLOODS: Final = (
    "endless_headers",
    "endless_body",
    "one_byte_chunks",
    "chunk_extensions",
    "early_hints",
)
"""Those who answer with more than anybody should take."""
