"""The web application: all routes of one road over ASGI, and OpenAPI for them."""

import asyncio
from functools import cache
from typing import Any, Final

import msgspec

from postroad.api.answering import answer
from postroad.api.context import Context
from postroad.api.openapi import document
from postroad.api.problems import MethodNotAllowed
from postroad.api.request import Request, Response, Stream, head
from postroad.api.routes import (
    batch,
    campaigns,
    credentials,
    dead,
    endpoints,
    health,
    keys,
    lists,
    mailboxes,
    messages,
    metrics,
    queues,
    stats,
    tokens,
)
from postroad.api.routing import Router, fetch, nothing_at

FAULT: Final = 500
ROUTES: Final = (
    *messages.ROUTES,
    *lists.ROUTES,
    *batch.ROUTES,
    *dead.ROUTES,
    *queues.ROUTES,
    *endpoints.ROUTES,
    *stats.ROUTES,
    *campaigns.ROUTES,
    *credentials.ROUTES,
    *tokens.ROUTES,
    *keys.ROUTES,
    *mailboxes.ROUTES,
    *health.ROUTES,
    *metrics.ROUTES,
)
"""A new group of routes is a file in api/routes/ whose ROUTES are added here."""


@cache
def openapi() -> bytes:
    """OpenAPI 3.1 of all routes, made when it is first asked for."""
    return msgspec.json.encode(document(ROUTES))


@fetch("/v1/openapi.json", scope=None)
async def describe() -> Response[bytes]:
    """Describe this API."""
    return Response(openapi(), media_type="application/vnd.oai.openapi+json")


class Application:
    """An ASGI application for one road."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._router = Router((*ROUTES, describe))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        request = Request(scope, receive, self.context)
        try:
            reply = await self._answer(request, scope)
        except Exception as error:  # noqa: BLE001 - a fault of ours is told without its trace
            reply = answer(error)
            if reply.status == FAULT:
                self._log_fault(request, error)
        if isinstance(reply, Stream):
            await self._stream(reply, request, send)
        else:
            await reply.send(request, send)

    async def _answer(self, request: Request, scope: Any) -> Response[Any] | Stream:
        routes, values = self._router.find(request.raw_path.rstrip("/") or "/")
        if not routes:
            raise nothing_at(request.path)
        route = routes.get("GET" if request.method == "HEAD" else request.method)
        scope["path_template"] = next(iter(routes.values())).path
        needed = None if route is None else route.facts.scope
        await self.context.access.check(request, needed)
        if route is None:
            return _other_method(request.method, {*routes, *(("HEAD",) if "GET" in routes else ())})
        request.body_bytes_max = route.facts.bytes_max or self.context.settings.request_bytes_max
        said = await route.call(request, values)
        if isinstance(said, Response | Stream):
            return said
        return Response(said, route.facts.status)

    async def _stream(self, reply: Stream, request: Request, send: Any) -> None:
        """Write pieces until they end or the client is gone. What fails now can only be logged: the
        client sees that the answer is cut off."""
        work = asyncio.ensure_future(_write(reply, request, send))
        gone = asyncio.ensure_future(request.disconnected())
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.wait((work, gone))
        if not work.cancelled() and (error := work.exception()) is not None:
            self._log_fault(request, error)

    def _log_fault(self, request: Request, error: BaseException) -> None:
        self.context.log.error(
            "request failed", path=request.path, method=request.method, exc_info=error
        )


async def _write(reply: Stream, request: Request, send: Any) -> None:
    await send(head(reply.status, reply.headers))
    if request.method != "HEAD":
        async for piece in reply.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _other_method(method: str, own: set[str]) -> Response[Any]:
    """OPTIONS is answered everywhere; other methods than a path's own are refused."""
    allowed = ", ".join(sorted({*own, "OPTIONS"}))
    if method == "OPTIONS":
        return Response(None, 204, {"allow": allowed})
    refused = MethodNotAllowed(f"{method} is not answered here: use {allowed}")
    return answer(refused, {"allow": allowed})
