"""A raw SMTP sink in a process of its own: `python -m bench.mail_sink`.

It prints its port, takes every mail, and at the end of its stdin prints what it got: the numbers in
the recipients' names (`n7@…`), and bytes.
"""

import asyncio
import sys
import time
from typing import cast

import msgspec
import uvloop

from bench.hook_sink import Book, Got, HookSink

GREETING = b"220 sink.example ESMTP\r\n"
OFFERS = (
    b"250-sink.example\r\n250-PIPELINING\r\n250-SIZE 10240000\r\n250-8BITMIME\r\n"
    b"250-ENHANCEDSTATUSCODES\r\n250 SMTPUTF8\r\n"
)
OK = b"250 2.1.0 Ok\r\n"
END = b"\r\n.\r\n"


class Connection(asyncio.Protocol):
    """One client's."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._held = b""
        self._content = False
        self._number = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        self._transport.write(GREETING)

    def data_received(self, data: bytes) -> None:
        self._book.bytes += len(data)
        data = self._held + data if self._held else data
        said: list[bytes] = []
        while True:
            mark = END if self._content else b"\r\n"
            line, found, rest = data.partition(mark)
            if not found:
                break
            data = rest
            said.append(self._taken() if self._content else self._answer(line))
        self._held = data
        if said:
            self._transport.write(b"".join(said))

    def _taken(self) -> bytes:
        self._content = False
        self._book.numbers.append(self._number)
        self._book.moments_us.append(time.time_ns() // 1_000)
        return b"250 2.0.0 Ok: queued as %X\r\n" % self._number

    def _answer(self, line: bytes) -> bytes:
        verb = line[:4].upper()
        if verb == b"RCPT":
            self._number = int(line[line.index(b"<") + 2 : line.index(b"@")])
        elif verb == b"DATA":
            self._content = True
            return b"354 go on\r\n"
        elif verb == b"EHLO":
            return OFFERS
        elif verb == b"QUIT":
            self._transport.write(b"221 2.0.0 bye\r\n")
            self._transport.close()
        return OK


class MailSink(HookSink):
    """The sink, from outside."""

    MODULE = "bench.mail_sink"

    @property
    def relay(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"


async def serve() -> None:
    book = Book(0.0)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(book), "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    got = Got(list(book.numbers), list(book.moments_us), book.bytes)
    sys.stdout.write(msgspec.json.encode(got).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(serve())
