"""A uvicorn server: `… LOG`. What it gets it writes to the log, a JSON line a request, and answers as
the path says: /status/503, /seq/500/200 (one after the other by message), /slow/2/200, /held/200 (once
its test says so), /echo/200 (what headers it was sent), /repeat/200 (what body)."""

import asyncio
import json
import sys
import time
from base64 import b64encode
from collections import Counter
from pathlib import Path
from typing import Any

import uvicorn

LOG = Path(sys.argv[1])
SEEN: Counter[str] = Counter()


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    body = b""
    while (event := await receive())["type"] == "http.request":
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    entry = {
        "at": time.time(),
        "method": scope["method"],
        "path": scope["path"],
        "query": scope["query_string"].decode(),
        "headers": headers,
        "body": b64encode(body).decode(),
    }
    note(json.dumps(entry))
    await answer(scope["path"].split("/")[1:], headers, body, send)


def note(line: str) -> None:
    with LOG.open("a") as log:
        log.write(line + "\n")


async def answer(words: list[str], headers: dict[str, str], body: bytes, send: Any) -> None:
    kind, *rest = words
    number = headers.get("webhook-id", "")
    if kind == "slow":
        await asyncio.sleep(float(rest.pop(0)))
    while kind == "held" and not LOG.with_suffix(".released").exists():
        await asyncio.sleep(0.02)
    turn = SEEN[number] if kind == "seq" else 0
    SEEN[number] += 1
    status = int(rest[min(turn, len(rest) - 1)])
    extra = [(b"content-type", b"text/plain")]
    if status == 429:
        extra.append((b"retry-after", b"7"))
    if status in (301, 302, 307, 308):
        extra.append((b"location", b"/status/200"))
    said = {"long": "x" * 40_000, "echo": json.dumps(headers), "repeat": body.decode()}
    text = said.get(kind, f"said {status}").encode()
    start = {"type": "http.response.start", "status": status, "headers": extra}
    await send(start)
    await send({"type": "http.response.body", "body": text})


class Server(uvicorn.Server):
    """Says where it listens."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        (listener,) = self.servers[0].sockets
        sys.stdout.write(json.dumps({"port": listener.getsockname()[1]}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    Server(uvicorn.Config(app, "127.0.0.1", 0, log_level="error", lifespan="off")).run()
