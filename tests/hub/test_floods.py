"""Frames that cost more than they say, by the hundred thousand: from clients and from hubs."""

import asyncio
from asyncio import StreamReader, StreamWriter
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha1
from pathlib import Path

import pytest

from postroad.hub.client import HubClient
from postroad.hub.client_connection import ClientConnection
from postroad.hub.frames import MSGPACK, Codec, MessageFrame
from postroad.hub.pings import FLOOD
from postroad.hub.socket import WebSocketSession
from postroad.ports.clock import SystemClock
from tests.hub.serving import serving

COUNT = 60_000
FEW = 3_000
UPGRADE = (
    b"GET / HTTP/1.1\r\nhost: hub\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
)
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(first: int, payload: bytes = b"", *, masked: bool = False) -> bytes:
    mask = b"\0\0\0\0" if masked else b""
    return bytes([first, len(mask) << 5 | len(payload)]) + mask + payload


def counted(monkeypatch: pytest.MonkeyPatch, kind: type) -> list[int]:
    """How many frames a listener was given: one for each, and none after it is gone."""
    seen: list[int] = []
    heard = kind.on_ws_frame  # type: ignore[attr-defined]

    def count(self: object, transport: object, given: object) -> None:
        seen.append(1)
        heard(self, transport, given)

    monkeypatch.setattr(kind, "on_ws_frame", count)
    return seen


CLIENTS = {
    "pings": (b"", 0x89, b""),
    "pongs": (b"", 0x8A, b""),
    "parts of a message that never ends": (frame(0x01, masked=True), 0x00, b""),
    "commands that are none": (b"", 0x81, b"{}"),
}


@asynccontextmanager
async def upgraded(path: Path) -> AsyncIterator[tuple[StreamReader, StreamWriter]]:
    """A stranger's WebSocket to a hub."""
    async with serving(path / "hub.db") as served, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(UPGRADE)
        await reader.readuntil(b"\r\n\r\n")
        yield reader, writer
        writer.close()
        while served.server.open_transports:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("name", CLIENTS)
async def test_a_client_that_floods_the_hub_is_hung_up_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = counted(monkeypatch, WebSocketSession)
    begin, first, payload = CLIENTS[name]
    said = b""
    async with upgraded(tmp_path) as (reader, writer):
        with suppress(OSError):
            writer.write(begin + frame(first, payload, masked=True) * COUNT)
            while piece := await reader.read(65_536):
                said += piece
    assert len(seen) < FEW
    assert said.count(b"\x8a\x00") <= FLOOD  # pongs


async def test_without_the_bounds_all_pings_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.hub.pings.FLOOD", COUNT)
    seen = counted(monkeypatch, WebSocketSession)
    async with upgraded(tmp_path) as (_, writer):
        writer.write(frame(0x89, masked=True) * COUNT)
        while len(seen) < COUNT:
            await asyncio.sleep(0.01)


async def test_every_ping_is_answered_also_right_after_a_pong_or_another_ping(
    tmp_path: Path,
) -> None:
    """A client that waits in vain for one pong takes the hub for dead, and hangs up."""
    async with upgraded(tmp_path) as (reader, writer):
        writer.write(frame(0x8A, masked=True))
        for word in (b"hello", b"again"):
            writer.write(frame(0x89, word, masked=True))
            assert await reader.readexactly(7) == b"\x8a\x05" + word


STRAY = Codec(MSGPACK).encode(MessageFrame(box="nobody's", id=1, at=0, data=b"x"))
HUBS = {
    "pings": (0x89, b""),
    "pongs": (0x8A, b""),
    "texts": (0x81, b"{}"),
    "parts": (0x80, b""),
    "messages that nobody asked for": (0x82, STRAY),
}


@asynccontextmanager
async def flooding(first: int, payload: bytes, go: asyncio.Event) -> AsyncIterator[str]:
    """A hub that pours out frames, the first time when it may, later with its handshake; and then
    stays."""
    inside: list[asyncio.Task[None] | None] = []

    async def serve(reader: StreamReader, writer: StreamWriter) -> None:
        inside.append(asyncio.current_task())
        with suppress(OSError, EOFError):
            head = await reader.readuntil(b"\r\n\r\n")
            key = next(
                line[18:].strip() for line in head.split(b"\r\n") if b"-key:" in line.lower()
            )
            accept = b64encode(sha1(key + GUID, usedforsecurity=False).digest())
            hello = (
                b"HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
                b"sec-websocket-accept: " + accept + b"\r\n\r\n"
            )
            if not go.is_set():
                writer.write(hello)
                hello = b""
                await go.wait()
            writer.write(hello + frame(first, payload) * COUNT)
            _ = await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    server.close()
    await asyncio.wait([each for each in inside if each])


class Waits(SystemClock):
    """How long it was to be waited; nobody does."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await asyncio.sleep(0)


class Always:
    def random(self) -> float:
        return 0.5


@pytest.mark.parametrize("name", HUBS)
async def test_a_hub_that_floods_its_client_is_hung_up_on_and_dialled_ever_more_seldom(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, waits = counted(monkeypatch, ClientConnection), Waits()
    go = asyncio.Event()
    async with flooding(*HUBS[name], go) as url, asyncio.timeout(60):
        client = HubClient(url, clock=waits, chance=Always())
        await client.open()
        go.set()
        while len(waits.asked) < 4:
            await asyncio.sleep(0.01)
        await client.close()
    assert waits.asked[:4] == [0.05, 0.2, 0.5, 1.0]
    assert len(seen) < COUNT * len(waits.asked)  # what was read at once is stepped over
