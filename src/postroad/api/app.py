"""The web application: all routes of one road over ASGI, and OpenAPI for them."""

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from postroad.api import docs_page
from postroad.api.access import check_confined
from postroad.api.answering import answer
from postroad.api.audit import CUT, is_rehearsal
from postroad.api.confining import confine
from postroad.api.context import Context
from postroad.api.openapi import document
from postroad.api.problems import MethodNotAllowed
from postroad.api.request import Request, Response, Stream, head
from postroad.api.routes import (
    about,
    attachments,
    audit,
    batch,
    batches,
    callbacks,
    campaign_drafts,
    campaigns,
    credentials,
    dead,
    endpoint_life,
    endpoints,
    events,
    feeds,
    figures,
    health,
    jobs,
    keys,
    limits,
    lists,
    mailboxes,
    messages,
    metrics,
    portal,
    privacy,
    queues,
    replays,
    rules,
    sessions,
    stats,
    suppressions,
    system,
    tenants,
    timetables,
    tokens,
    unsubscribe,
    webhooks,
)
from postroad.api.routing import Route, Router, fetch, nothing_at
from postroad.model.errors import BrokerBlocked, BrokerLost, DiskFull, Forbidden, StoreUnavailable
from postroad.observe.gathering import EventGathering

FAULT: Final = 500
AWAY: Final = (StoreUnavailable, DiskFull, BrokerLost, BrokerBlocked)
"""Errors that tell of the store, and not of what was asked for."""
OPENAPI: Final = "application/vnd.oai.openapi+json"


@cache
def openapi() -> bytes:
    """OpenAPI 3.1 of all routes, made when it is first asked for."""
    return msgspec.json.encode(document(ROUTES))


@cache
def _docs() -> bytes:
    return docs_page.page(document(ROUTES))


@fetch("/v1/openapi.json", scope=None, gives_media=(OPENAPI,))
async def describe() -> Response[bytes]:
    """Describe this API as OpenAPI 3.1."""
    content = await asyncio.to_thread(openapi)  # made once, 25 ms
    return Response(content, media_type=OPENAPI)


@fetch("/docs", scope=None, gives_media=("text/html",))
async def docs() -> Response[bytes]:
    """Show this description as a page."""
    content = await asyncio.to_thread(_docs)
    return Response(content, headers=docs_page.HEADERS, media_type="text/html; charset=utf-8")


@fetch(docs_page.STYLE_PATH, scope=None, gives_media=("text/css",))
async def docs_style() -> Response[bytes]:
    """Give the style sheet of that page."""
    return Response(docs_page.style(), headers=docs_page.HEADERS, media_type="text/css")


ROUTES: Final = (
    *jobs.ROUTES,
    *messages.ROUTES,
    *lists.ROUTES,
    *batch.ROUTES,
    *dead.ROUTES,
    *queues.ROUTES,
    *webhooks.ROUTES,
    *endpoints.ROUTES,
    *endpoint_life.ROUTES,
    *feeds.ROUTES,
    *events.ROUTES,
    *replays.ROUTES,
    *batches.ROUTES,
    *timetables.ROUTES,
    *stats.ROUTES,
    *figures.ROUTES,
    *campaigns.ROUTES,
    *campaign_drafts.ROUTES,
    *callbacks.ROUTES,
    *credentials.ROUTES,
    *suppressions.ROUTES,
    *unsubscribe.ROUTES,
    *limits.ROUTES,
    *rules.ROUTES,
    *tenants.ROUTES,
    *tokens.ROUTES,
    *sessions.ROUTES,
    *portal.ROUTES,
    *attachments.ROUTES,
    *audit.ROUTES,
    *privacy.ROUTES,
    *keys.ROUTES,
    *mailboxes.ROUTES,
    *about.ROUTES,
    *system.ROUTES,
    *health.ROUTES,
    *metrics.ROUTES,
    describe,
    docs,
    docs_style,
)
"""A new group of routes is a file in api/routes/ whose ROUTES are added here."""


class Application:
    """An ASGI application for one road."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._router = Router(ROUTES)
        self._faults = EventGathering(context.road.store.clock)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        request = Request(scope, receive, self.context)
        try:
            reply = await self._answer(request, scope)
        except Exception as error:  # noqa: BLE001 - a fault of ours is answered without its trace
            reply = answer(error)
            if reply.status == FAULT:
                self.log_fault(request, error)
            elif type(error) in AWAY:
                self.context.log.store_failed(_doing(scope), error)
        else:
            self.context.log.store_works(_doing(scope))
        reply.headers |= self.context.access.cors.headers(request.headers.get("origin"))
        await self.reply(reply, request, send)

    async def reply(self, reply: Response[Any] | Stream, request: Request, send: Any) -> None:
        """Write an answer, whole or in pieces."""
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
        try:
            await self.context.access.check(request, needed, _operation(route))
        except Forbidden:
            if route is not None and route.changes:
                await self.context.audit.refused(request, route, values)
            raise
        if route is None:
            return _other_method(request, {*routes, *(("HEAD",) if "GET" in routes else ())})
        request.body_bytes_max = route.facts.bytes_max or self.context.settings.request_bytes_max
        if route.facts.any_scope:
            request.who = await self.context.access.identify(request)
            check_confined(request.who, _operation(route))
        given = await confine(request, route, await route.arguments(request, values))
        if route.changes and not is_rehearsal(given):
            return await self._change(request, route, given)
        return _reply(await route.handler(**given), route)

    async def _change(
        self, request: Request, route: Route, given: Mapping[str, Any]
    ) -> Response[Any] | Stream:
        """Call a route that changes something, with a line in the audit log around it."""
        line = await self.context.audit.begin(request, route, given)
        try:
            said = await route.handler(**given)
        except Exception as error:
            await line.end(answer(error).status)
            raise
        reply = _reply(said, route)
        if isinstance(reply, Stream):
            reply.ended = line.end
        else:
            await line.end(reply.status, reply.content)
        return reply

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
            status = CUT if work.cancelled() else reply.status
            if not work.cancelled() and (error := work.exception()) is not None:
                self.log_fault(request, error)
                status = FAULT
            if reply.ended is not None:
                await reply.ended(status)

    def log_fault(self, request: Request, error: BaseException) -> None:
        """Log an error of ours, with its trace."""
        alike = {"raised": type(error).__name__, "method": request.method}
        facts = {"path": request.path, "exc_info": error}
        self._faults.add(self.context.log.error, "request failed", alike, facts.copy)


def _operation(route: Route | None) -> str:
    return route.handler.__name__ if route else ""


def _doing(scope: Any) -> str:
    return f"answer {scope['method']} {scope.get('path_template', '')}"


def _reply(said: Any, route: Route) -> Response[Any] | Stream:
    return said if isinstance(said, Response | Stream) else Response(said, route.facts.status)


async def _write(reply: Stream, request: Request, send: Any) -> None:
    await send(head(reply.status, reply.headers))
    if request.method != "HEAD":
        async for piece in reply.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _other_method(request: Request, own: set[str]) -> Response[Any]:
    """OPTIONS is answered everywhere; other methods than a path's own are refused."""
    allowed = ", ".join(sorted({*own, "OPTIONS"}))
    if request.method == "OPTIONS":
        told = request.context.access.cors.preflight(request.headers, allowed)
        return Response(None, 204, {"allow": allowed, **told})
    refused = MethodNotAllowed(f"{request.method} is not answered here: use {allowed}")
    return answer(refused, {"allow": allowed})
