"""Clients that misbehave: raw sockets, and a WebSocket library that is not ours."""

import asyncio
import json
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.hub.serving import Served


def dial(served: Served, **options: Any) -> connect:
    url = served.url.replace("ws:", "wss:") if "ssl" in options else served.url
    return connect(url, compression=None, ping_interval=None, **options)


async def ask(ws: ClientConnection, frame: object) -> dict[str, Any]:
    await ws.send(frame if isinstance(frame, (str, bytes)) else json.dumps(frame))
    return await hear(ws)


async def hear(ws: ClientConnection) -> dict[str, Any]:
    heard: dict[str, Any] = json.loads(await asyncio.wait_for(ws.recv(), 60))
    return heard


async def closed(ws: ClientConnection) -> tuple[int | None, str | None]:
    await asyncio.wait_for(ws.wait_closed(), 60)
    return ws.close_code, ws.close_reason


async def http(
    served: Served, method: str, path: str, token: str = "", body: bytes = b"", kind: str = ""
) -> tuple[int, Any]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    head = f"{method} {path} HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n"
    head += f"authorization: Bearer {token}\r\ncontent-length: {len(body)}\r\n"
    head += f"content-type: {kind}\r\n" if kind else ""
    writer.write(head.encode() + b"\r\n" + body)
    answer = await asyncio.wait_for(reader.read(), 90)
    writer.close()
    first, _, rest = answer.partition(b"\r\n\r\n")
    media = b"problem+json" if int(first.split()[1]) >= 400 else b"json"
    assert not rest or b"\r\ncontent-type: application/" + media in first
    return int(first.split()[1]), json.loads(rest) if rest else None
