"""Files between a browser and the API: passed on in pieces, with the token of the session. They are
too large for a form or a page."""

from typing import Any, Final
from urllib.parse import unquote, urlencode

import msgspec
from msgspec import Struct

from postroad.api.app import Application
from postroad.api.request import Request
from postroad.dashboard import guarding

SESSION: Final = ("authorization", "postroad-tenant")
"""Headers that say for whom it is asked: as the session says, whatever came."""


BODY: Final = (b"content-type", b"content-length")


class PassOn(Struct, frozen=True):
    """Where a request goes on in the API; an answer is saved as `file` if it has a name."""

    path: str
    query: dict[str, str] = {}
    file: str = ""
    data: dict[str, Any] | None = None
    """What is posted instead of what was asked."""


async def pass_on(
    api: Application, request: Request, to: PassOn, scope: Any, receive: Any, send: Any
) -> None:
    """Let the API answer, as if it had been asked with the session's token."""
    own = {name.encode(): request.headers.get(name, "").encode() for name in SESSION}
    given = [pair for pair in scope["headers"] if pair[0] not in (b"cookie", *own)]
    given += [pair for pair in own.items() if pair[1]]
    place: dict[str, Any] = {"path": unquote(to.path), "raw_path": to.path.encode()}
    query = urlencode({name: text for name, text in to.query.items() if text}).encode()

    async def say(event: Any) -> None:
        if event["type"] == "http.response.start":
            event = {**event, "headers": _headers(event, to)}
        await send(event)

    if to.data is not None:
        place["method"], receive = "POST", _posted(to.data, receive)
        given = [pair for pair in given if pair[0] not in BODY]
    await api({**scope, **place, "query_string": query, "headers": given}, receive, say)


def _posted(data: dict[str, Any], receive: Any) -> Any:
    """What a request receives that brings these data, and then whatever its client does."""
    body = [{"type": "http.request", "body": msgspec.json.encode(data), "more_body": False}]

    async def first() -> Any:
        return body.pop() if body else await receive()

    return first


def _headers(event: Any, to: PassOn) -> list[tuple[bytes, bytes]]:
    more = dict(guarding.HEADERS)
    if to.file and event["status"] < 400:
        more["content-disposition"] = f'attachment; filename="{to.file}"'
    own = {name.encode(): text.encode() for name, text in more.items()}
    return [*(pair for pair in event["headers"] if pair[0] not in own), *own.items()]
