"""Addresses of roads that another process serves: `http://…` and `https://…` for a server,
`road:///FILE` for the window of the process that owns a SQLite file."""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from postroad.model.errors import BadDsn, BadInput
from postroad.ports.tls import trusting_tls
from postroad.stores.window_socket import connect

HEAD_BYTES_MAX: Final = 64 << 10
CONNECT_S: Final = 10.0
WINDOW: Final = "road:///"
PORTS: Final = {"http": 80, "https": 443}

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class RoadAddress(Struct, frozen=True):
    """Where a road is served: its name for people, the `Host` of requests, what all paths begin
    with, and how a connection is made."""

    name: str
    host: str
    base: str
    dial: Callable[[], Awaitable[Streams]]


def read_address(dsn: str) -> RoadAddress:
    """Read the address of a road; BadDsn says how one is written."""
    if dsn.startswith(WINDOW):
        return _window(dsn.removeprefix(WINDOW))
    shown = f"…{dsn[dsn.rindex('@') :]}" if "@" in dsn else dsn
    bad = BadDsn(f"{shown!r}: give an address like http://127.0.0.1:8600, and the token apart")
    try:
        parts = urlsplit(dsn)
        host, port = parts.hostname, parts.port or PORTS[parts.scheme]
    except (KeyError, ValueError):
        raise bad from None
    if not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise bad  # it would be left out silently
    base = parts.path.rstrip("/")
    secure = parts.scheme == "https"
    return RoadAddress(dsn.rstrip("/"), parts.netloc, base, _tcp(host, port, secure=secure))


def _window(file: str) -> RoadAddress:
    if not file:
        raise BadDsn(f"{WINDOW}: name the road's file, as in road:///road.db")

    async def dial() -> Streams:
        try:
            line = connect(f"sqlite:///{file}", 0.0)
        except BlockingIOError:  # all places in the queue are taken: a thread waits for one
            line = await asyncio.to_thread(connect, f"sqlite:///{file}", CONNECT_S)
            line.setblocking(False)
        return await asyncio.open_unix_connection(sock=line, limit=HEAD_BYTES_MAX)

    return RoadAddress(f"the process that owns {file}", "localhost", "", dial)


def _tcp(host: str, port: int, *, secure: bool) -> Callable[[], Awaitable[Streams]]:
    known: list[ssl.SSLContext] = []

    async def dial() -> Streams:
        if secure and not known:  # reading the system's certificates takes 20 ms
            ca_file = os.environ.get("POSTROAD_CA_FILE", "")
            known.append(await asyncio.to_thread(trusting_tls, ca_file))
        tls = known[0] if known else None
        async with asyncio.timeout(CONNECT_S):
            return await asyncio.open_connection(host, port, ssl=tls, limit=HEAD_BYTES_MAX)

    return dial


def check_token(token: str, dsn: str) -> str:
    """The token for an address: the one that is given, else POSTROAD_TOKEN. A window needs none."""
    if dsn.startswith(WINDOW):
        if token:
            raise BadInput("a road's window needs no token: leave it out")
        return ""
    token = token or os.environ.get("POSTROAD_TOKEN", "")
    if not token:
        raise BadInput("a server asks for a token: give token=…, or set POSTROAD_TOKEN")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise BadInput("the token has characters that no token has: copy it again")
    return token
