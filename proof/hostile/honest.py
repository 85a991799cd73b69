"""An honest receiver with a ledger of its own: `python -m proof.hostile.honest FILE`.

It prints its port, answers every POST with 200, and appends number and moment of each to the file, so
that they outlive whatever happens elsewhere. Bodies begin with `{"n":NUMBER,`."""

import asyncio
import os
import struct
import sys
import time
from pathlib import Path
from typing import Final, cast

import uvloop

OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
ENTRY: Final = struct.Struct("<qq")
LENGTH: Final = b"content-length: "


class Line(asyncio.Protocol):
    """One client's."""

    def __init__(self, ledger: int) -> None:
        self._ledger = ledger
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, mark, body = self._held.partition(b"\r\n\r\n")
        if not mark:
            return
        at = head.lower().find(LENGTH) + len(LENGTH)
        if len(body) < int(head[at:].split(b"\r\n", 1)[0]):
            return
        self._held = b""
        number = int(body[5 : body.index(b",")])
        os.write(self._ledger, ENTRY.pack(number, time.time_ns() // 1_000))
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(OK)


def entries(path: Path) -> list[tuple[int, int]]:
    """Number and moment (µs) of all that came."""
    return list(ENTRY.iter_unpack(path.read_bytes()))


async def serve(path: str) -> None:
    ledger = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Line(ledger), "0.0.0.0", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
