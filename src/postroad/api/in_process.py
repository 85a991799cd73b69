"""Requests to the application without a network, in this process and its loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Final
from urllib.parse import unquote

from postroad.remote.api_request import ApiAnswer, ApiRequest

ASGI = Callable[[Any, Any, Any], Awaitable[None]]
IN_PROCESS: Final = ("inside", 0)
"""The client of such a request; no network can bring this address."""


async def ask(
    app: ASGI,
    asked: ApiRequest,
    heard: Callable[[bytes], None] | None = None,
    *,
    begin: Callable[[], None] | None = None,
    sent: AsyncIterator[bytes] | None = None,
    client: tuple[str, int] = IN_PROCESS,
) -> ApiAnswer:
    """Send one request. With `heard` a good answer is given to it in pieces as they come, and is
    not kept; `begin` is called before the first. With `sent` the content goes in pieces. `client`
    is the caller, if it is not this process itself."""
    said: list[Any] = []
    done = asyncio.Event()
    body = [{"type": "http.request", "body": asked.content, "more_body": False}]

    async def receive() -> Any:
        if sent is not None and (piece := await anext(sent, None)) is not None:
            return {"type": "http.request", "body": piece, "more_body": True}
        if not body:
            await done.wait()  # the client stays until the answer is whole
            return {"type": "http.disconnect"}
        return body.pop()

    async def send(event: Any) -> None:
        if begin is not None and event.get("status", 500) < 400:
            begin()
        passes_on = heard is not None and bool(said) and said[0]["status"] < 400
        if heard is not None and passes_on:
            heard(event.get("body", b""))
        else:
            said.append(event)
        if event["type"] == "http.response.body" and not event.get("more_body"):
            done.set()

    await app(_scope(asked, client), receive, send)
    start = said[0]
    content = b"".join(each.get("body", b"") for each in said[1:])
    return ApiAnswer(start["status"], _joined(start["headers"]), content)


def _scope(asked: ApiRequest, client: tuple[str, int]) -> dict[str, Any]:
    given = {"content-type": "application/json", "host": "inside", **asked.headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": asked.method,
        "scheme": "http",
        "path": unquote(asked.path),
        "raw_path": asked.path.encode(),
        "root_path": "",
        "query_string": asked.query_text.encode(),
        "headers": [(name.lower().encode(), text.encode()) for name, text in given.items()],
        "client": client,
        "server": IN_PROCESS,
    }


def _joined(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers of an answer, values of one name joined. Our cookies have no commas."""
    found: dict[str, str] = {}
    for name, text in pairs:
        key, value = name.decode(), text.decode()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found
