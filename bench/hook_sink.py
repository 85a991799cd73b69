"""A raw HTTP sink in a process of its own: `python -m bench.hook_sink [DELAY_S]`.

It prints its port, answers every POST with 200 (after a delay, if one is named), and at the end of
its stdin prints what it got: numbers, moments, bytes. Bodies begin with `{"n":NUMBER,`.
"""

import asyncio
import sys
import time
from array import array
from pathlib import Path
from subprocess import PIPE, Popen
from typing import cast

import msgspec
import uvloop
from msgspec import Struct

from bench.shape import RunFailed

ROOT = Path(__file__).parents[1]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
LENGTH = b"content-length: "


class Got(Struct, frozen=True):
    """What arrived, in the order in which it did."""

    numbers: list[int]
    moments_us: list[int]
    bytes: int

    @property
    def distinct(self) -> int:
        """How many arrived; one that came twice makes counts differ."""
        twice = len(self.numbers) - len(set(self.numbers))
        return len(self.numbers) - 2 * twice


class Book:
    """All that arrived."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.numbers = array("q")
        self.moments_us = array("q")
        self.bytes = 0


class Connection(asyncio.Protocol):
    """One client's; pipelining is not spoken."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        self._book.bytes += len(data)
        data = self._held + data if self._held else data
        end = data.find(b"\r\n\r\n")
        if end < 0:
            self._held = data
            return
        head = data[:end].lower()
        at = head.find(LENGTH) + len(LENGTH)
        length = int(head[at:].split(b"\r\n", 1)[0])
        if len(data) < end + 4 + length:
            self._held = data
            return
        self._held = b""
        body = data[end + 4 :]
        self._book.numbers.append(int(body[5 : body.index(b",")]))
        self._book.moments_us.append(time.time_ns() // 1_000)
        if self._book.delay_s:
            asyncio.get_running_loop().call_later(self._book.delay_s, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(OK)


async def serve(delay_s: float) -> None:
    book = Book(delay_s)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(book), "0.0.0.0", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    got = Got(list(book.numbers), list(book.moments_us), book.bytes)
    sys.stdout.write(msgspec.json.encode(got).decode() + "\n")
    sys.stdout.flush()


class HookSink:
    """The sink, from outside."""

    MODULE = "bench.hook_sink"

    def __init__(self, delay_s: float = 0.0) -> None:
        command = (sys.executable, "-m", self.MODULE, str(delay_s))
        self._process = Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True)
        self.port = int(self._line())

    def url(self, path: str = "hook") -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def end(self) -> Got:
        """No more; what it got."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        got = msgspec.json.decode(self._line(), type=Got)
        self._process.wait(30)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return got

    def _line(self) -> str:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RunFailed("the sink has ended")
        return line


if __name__ == "__main__":
    uvloop.run(serve(float(sys.argv[1])))
