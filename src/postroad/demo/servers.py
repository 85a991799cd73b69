"""The demo's HTTP servers, a process of its own: `python -m postroad.demo.servers SPEED QUOTA`.

It prints the port of each host as JSON. At the first line of its standard input it begins to count
time, at the second one the server that was away comes back; it ends with the input.
"""

import asyncio
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec import Struct

from postroad.demo.recipients import Answer, DemoBody, Servers
from postroad.ports import loop
from postroad.ports.clock import SystemClock

AWAY: Final = "away.example"
LENGTH: Final = re.compile(r"content-length: *(\d+)", re.IGNORECASE)


class Running(Struct, frozen=True):
    """The servers, from outside."""

    ports: dict[str, int]
    begin: Callable[[], None]
    """Called when the servers' time begins."""
    come_back: Callable[[], None]
    """The one that was away listens from now on."""


@contextmanager
def serving(speed: float, quota_messages: int) -> Iterator[Running]:
    """The servers run while the block does."""
    command = (sys.executable, "-m", "postroad.demo.servers", str(speed), str(quota_messages))
    with subprocess.Popen(  # noqa: S603 - ourselves
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        orders, told = process.stdin, process.stdout
        if orders is None or told is None:  # pragma: no cover - both were asked for
            raise OSError("the demo's servers have no pipes")

        def next_line() -> None:
            orders.write("\n")
            orders.flush()

        ports = msgspec.json.decode(told.readline(), type=dict[str, int])
        yield Running(ports, begin=next_line, come_back=next_line)
        orders.close()


async def serve(speed: float, quota_messages: int) -> None:
    """All of them, until nobody wants them any more."""
    clock, loop = SystemClock(speed), asyncio.get_running_loop()
    servers = Servers(clock, quota_messages)
    doors: dict[str, socket.socket] = {}
    for host in servers.answers():
        doors[host] = socket.socket()
        doors[host].bind(("127.0.0.1", 0))  # bound and not listening yet: refused
    for host, answer in servers.answers().items():
        if host != AWAY:
            await _open(doors[host], answer)
    ports = {host: door.getsockname()[1] for host, door in doors.items()}
    sys.stdout.write(msgspec.json.encode(ports).decode() + "\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.readline)
    servers.start_s = clock.steady_s()
    if await loop.run_in_executor(None, sys.stdin.readline):
        await _open(doors[AWAY], servers.away)
    await loop.run_in_executor(None, sys.stdin.read)


async def _open(door: socket.socket, answer: Answer) -> None:
    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await _one(reader, writer, answer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the caller has gone, or we go
        finally:
            writer.close()

    await asyncio.start_server(take, sock=door)


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
    """One request. It is our own transport that calls: no more of HTTP is needed."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    user = head.split(" ", 2)[1].rpartition("/")[2]
    length = int(LENGTH.findall(head)[0])
    body = msgspec.json.decode(await reader.readexactly(length), type=DemoBody)
    reply = await answer(user, body)
    after = f"retry-after: {reply.retry_after_s}\r\n" if reply.retry_after_s else ""
    writer.write(f"HTTP/1.1 {reply.status} .\r\n{after}content-length: 0\r\n\r\n".encode())
    await writer.drain()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the demo; this ends with it
    loop.run(serve(float(sys.argv[1]), int(sys.argv[2])))
