"""All servers of strangers, in one process: `python -m proof.hostile.strangers FILE`.

It prints the port of each by name, and serves until its standard input ends; who was asked something
is appended to the file."""

import asyncio
import os
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

import msgspec
import uvloop

from proof.hostile.hubs import HUBS, KEYED
from proof.hostile.providers import account, provider
from proof.hostile.receivers import RECEIVERS, Hostility

KEY: Final = b"sec-websocket-key:"
LENGTH: Final = b"content-length:"
WHOLE: Final = ":whole"
"""Behind the name of one whose answer was taken to its end."""
Play = Callable[[bytes, StreamWriter], Awaitable[None]]


def plainly(hostility: Hostility) -> Play:
    """One that does not care what was asked."""
    return lambda _head, line: hostility(line)


async def as_provider(head: bytes, line: StreamWriter) -> None:
    """A look at the account works; a message does not."""
    await (account if head.startswith(b"GET") else provider)(line)


def keyed(hostility: Callable[[StreamWriter, bytes], Awaitable[None]]) -> Play:
    """One that answers a WebSocket's key."""
    return lambda head, line: hostility(line, _value(head, KEY))


def _value(head: bytes, name: bytes) -> bytes:
    at = head.lower().find(name)
    return head[at + len(name) :].split(b"\r\n", 1)[0].strip() if at >= 0 else b""


def plays() -> dict[str, Play]:
    """Every stranger, by name."""
    found = {each.__name__: plainly(each) for each in (*RECEIVERS, *HUBS)}
    found |= {each.__name__: keyed(each) for each in KEYED}
    return {**found, "provider": as_provider}


async def serve_one(
    play: Play,
    reader: StreamReader,
    writer: StreamWriter,
    met: Callable[[], object],
    done: Callable[[], object],
) -> None:
    """Requests on one connection, each answered badly; it is noted when one was, and when all of a
    bad answer was taken."""
    with suppress(OSError, EOFError, asyncio.LimitOverrunError, ValueError, RuntimeError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            _ = await reader.readexactly(int(_value(head, LENGTH) or 0))
            met()
            await play(head, writer)
            await writer.drain()
            done()
    writer.close()


async def serve(path: str) -> None:
    ports: dict[str, int] = {}
    book = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for name, play in plays().items():
        met = partial(os.write, book, f"{name}\n".encode())
        done = partial(os.write, book, f"{name}{WHOLE}\n".encode())
        serving = partial(serve_one, play, met=met, done=done)
        server = await asyncio.start_server(serving, "0.0.0.0", 0)
        ports[name] = server.sockets[0].getsockname()[1]
    sys.stdout.write(msgspec.json.encode(ports).decode() + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # some of them sleep for an hour


if __name__ == "__main__":
    os.nice(15)  # what they do to the road is the question, not what they do to the machine
    uvloop.run(serve(sys.argv[1]))
