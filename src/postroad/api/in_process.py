"""Requests to the application without a network, in this process and its loop."""

import asyncio
from collections.abc import Awaitable, Callable
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
    client: tuple[str, int] = IN_PROCESS,
) -> ApiAnswer:
    """Send one request. With `heard` a good answer is given to it in pieces as they come, and is
    not kept. `client` is who asks, if it is not this process itself."""
    given = {"content-type": "application/json", "host": "inside", **asked.headers}
    scope: dict[str, Any] = {
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
    said: list[Any] = []
    done = asyncio.Event()
    body = [{"type": "http.request", "body": asked.content, "more_body": False}]

    async def receive() -> Any:
        if not body:
            await done.wait()  # the client stays until the answer is whole
            return {"type": "http.disconnect"}
        return body.pop()

    async def send(event: Any) -> None:
        passes_on = heard is not None and bool(said) and said[0]["status"] < 400
        if heard is not None and passes_on:
            heard(event.get("body", b""))
        else:
            said.append(event)
        if event["type"] == "http.response.body" and not event.get("more_body"):
            done.set()

    await app(scope, receive, send)
    start = said[0]
    headers = {name.decode(): text.decode() for name, text in start["headers"]}
    return ApiAnswer(start["status"], headers, b"".join(each.get("body", b"") for each in said[1:]))
