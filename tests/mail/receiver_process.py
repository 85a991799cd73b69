"""A mail server as a process of its own with a log of its own.

`python -m tests.mail.receiver_process LOG LATENCY_MS …`: prints its port. Each mail that it takes is
a line of the log, written before it answers: when (nanoseconds), to whom, `taken`.
"""

import asyncio
import os
import sys
import time
from typing import cast

END = b"\r\n.\r\n"


class Connection(asyncio.Protocol):
    """One client's."""

    def __init__(self, log: int, latency_s: float) -> None:
        self._log = log
        self._latency_s = latency_s
        self._held = b""
        self._content = False
        self._recipient = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(b"220 receiver.example ESMTP\r\n")

    def data_received(self, data: bytes) -> None:
        self._held += data
        while True:
            line, found, rest = self._held.partition(END if self._content else b"\r\n")
            if not found:
                return
            self._held = rest
            if self._content:
                self._take()
            else:
                self._transport.write(self._answer(line))

    def _take(self) -> None:
        self._content = False
        os.write(self._log, b"%d %s taken\n" % (time.time_ns(), self._recipient))
        asyncio.get_running_loop().call_later(self._latency_s, self._say, b"250 2.0.0 Ok\r\n")

    def _say(self, reply: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(reply)

    def _answer(self, line: bytes) -> bytes:
        verb = line[:4].upper()
        if verb == b"RCPT":
            self._recipient = line[line.index(b"<") + 1 : line.index(b">")]
        elif verb == b"DATA":
            self._content = True
            return b"354 go on\r\n"
        elif verb == b"EHLO":
            return b"250-receiver.example\r\n250 PIPELINING\r\n"
        return b"250 2.1.0 Ok\r\n"


async def main(log: str, latency_ms: str, *_: str) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(file, float(latency_ms) / 1000), "127.0.0.1", 0
    )
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    # Ends with the one who started it.
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
