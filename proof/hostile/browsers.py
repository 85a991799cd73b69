"""Browsers of strangers, and of a tenant that is hostile: uploads, pages and logins at their worst.
What is refused must be told in a sentence."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterable
from contextlib import suppress
from itertools import repeat
from typing import Final

from proof.hostile.clients import ANSWER_S, PIECE, SLOW_S, Attack, Target, dialled, many

UPLOAD: Final = "/campaigns/import"
KIND: Final = "content-type: multipart/form-data; boundary=x\r\n"
PART: Final = b'--x\r\ncontent-disposition: form-data; name="name"\r\n\r\nx\r\n'
FILE: Final = PART + b'--x\r\ncontent-disposition: form-data; name="f"; filename="p.csv"\r\n\r\n'
END: Final = b"\r\n--x--\r\n"
CROWDED: Final = b"too many connections"
TRIES: Final = 5
ANNOUNCED: Final = 1 << 30


class Unanswered(Exception):
    """Something was refused without its sentence."""


def head(target: Target, path: str, length: int, more: str = "", *, known: bool = True) -> bytes:
    """The head of a form, of the session or of nobody."""
    own = f"cookie: {target.cookie}\r\n" if known else ""
    own += "origin: http://127.0.0.1\r\npostroad-fetch: 1\r\nconnection: close\r\n"
    return (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{own}{more}content-length: {length}\r\n\r\n"
    ).encode()


async def refused(
    target: Target, source: str, first: bytes, pieces: Iterable[bytes], *told: bytes
) -> None:
    """Send until there is an answer, which must have one of the sentences. A server that has too
    many connections may end one that has said nothing yet: then once more."""
    said = b""
    for _ in range(TRIES):
        with suppress(OSError):
            said = await _answer(target, source, first, pieces)
        if any(each in said for each in told):
            return
        if said and CROWDED not in said:
            break
        await asyncio.sleep(SLOW_S)
    raise Unanswered(f"{told[0]!r} is not in {said[-500:]!r}")


async def _answer(target: Target, source: str, first: bytes, pieces: Iterable[bytes]) -> bytes:
    async with dialled(target, source) as (reader, writer), asyncio.timeout(ANSWER_S * 3):
        answer = asyncio.ensure_future(reader.read())
        with suppress(OSError):
            writer.write(first)
            for piece in pieces:
                if answer.done():
                    break
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        return await answer


async def forms_that_are_none(target: Target) -> None:
    """Uploads without end: of fields, of a part's head, of what stands before the first part; cut
    ones; ones that call themselves compressed."""
    upload = head(target, UPLOAD, ANNOUNCED, KIND)
    bomb = head(target, UPLOAD, 100, KIND + "content-encoding: gzip\r\n")
    cut = head(target, UPLOAD, len(FILE) + 100, KIND)
    for _ in range(target.times(20)):
        wrong = ((upload, repeat(PART), b"other fields"), (upload, repeat(b"--y\r\n"), b"broken"))
        long_head = (PART, b"--x\r\n", *(b"x" * 1_000 for _ in range(100)))
        for first, pieces, told in (
            *wrong,
            (upload, long_head, b"over 4096 bytes"),
            (bomb, (b"\x1f\x8b" + bytes(98),), b"uncompressed"),
            (cut, (FILE + bytes(100),), b"broke off"),
        ):
            await refused(target, "127.0.23.1", first, pieces, told)


async def huge_files(target: Target) -> None:
    """Files that go on and on, of a session and of nobody, and one that is too large to begin with."""
    size = target.times(64 << 20) // PIECE * PIECE + PIECE
    pieces = [b"x" * PIECE] * (size // PIECE)
    first = head(target, UPLOAD, len(FILE) + size + len(END), KIND) + FILE
    await refused(target, "127.0.23.2", first, (*pieces, END), b'"notice":"p.csv')
    first = head(target, UPLOAD, 3 << 30, KIND)
    await refused(target, "127.0.23.2", first, repeat(b"x" * PIECE), b"2 GiB")
    first = head(target, UPLOAD, ANNOUNCED, KIND, known=False)
    await refused(target, "127.0.23.3", first, repeat(b"x" * PIECE), b"log in again")


async def guessed_logins(target: Target) -> None:
    """Login codes that nobody made, from one address after another."""
    for number in range(target.times(300)):
        source, form = f"127.0.24.{1 + number % 100}", b"code=prt_%d" % number
        first = head(target, "/login", len(form), known=False)
        await refused(target, source, first, (form,), b"<h1", b"notice")


async def greedy_pages(target: Target) -> None:
    """The same page under a new address each time, and searches that find nothing, from eight
    browsers at once: each is answered with a page."""

    async def one(number: int) -> None:
        source = f"127.0.27.{1 + number}"
        for turn in range(target.times(50)):
            for path in (f"/?x={number}-{turn}", f"/messages?text=nothing-{number}-{turn}"):
                await refused(target, source, _page(target, path), (), b"</html>", b'"detail"')

    await many(one, 8)


async def stolen_links(target: Target) -> None:
    """Codes of the portal: one that was opened before, and many that nobody made."""
    codes = (target.used_code, *(f"prt_{n}" for n in range(target.times(300))))
    for number, code in enumerate(codes):
        body = b'{"code": "%s"}' % code.encode()
        source, kind = f"127.0.28.{1 + number % 100}", "content-type: application/json\r\n"
        first = head(target, "/v1/portal-sessions", len(body), kind, known=False)
        await refused(target, source, first, (body,), b"opened before", b"too many tries")


def _page(target: Target, path: str) -> bytes:
    own = f"cookie: {target.cookie}\r\naccept: text/html\r\nconnection: close\r\n"
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{own}\r\n".encode()


async def slow_uploads(target: Target) -> None:
    """Files that hardly come."""

    async def one(number: int) -> None:
        async with dialled(target, f"127.0.25.{1 + number % 8}") as (_, writer):
            writer.write(head(target, UPLOAD, ANNOUNCED, KIND) + FILE)
            await _drip(writer)

    await many(one, target.times(100))


async def live_pages(target: Target) -> None:
    """One session with a hundred pages open, each of them live."""

    async def one(number: int) -> None:
        async with dialled(target, f"127.0.26.{1 + number % 8}") as (reader, writer):
            asked = f"GET /live?page=/queues HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: {target.cookie}"
            writer.write(asked.encode() + b"\r\n\r\n")
            await _listen(reader)

    await many(one, target.times(100))


async def _drip(writer: StreamWriter) -> None:
    while not writer.is_closing():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(SLOW_S)


async def _listen(reader: StreamReader) -> None:
    while await reader.read(PIECE):
        pass


BROWSERS: Final[tuple[Attack, ...]] = (
    forms_that_are_none,
    huge_files,
    guessed_logins,
    greedy_pages,
    stolen_links,
    slow_uploads,
    live_pages,
)
ENDLESS: Final[tuple[Attack, ...]] = (slow_uploads, live_pages)
"""These go on as long as they are let."""
