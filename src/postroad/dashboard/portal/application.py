"""The portal over ASGI, before the other pages. Its frame is for everybody and shows nothing of a
tenant; what is in it is given for the token of the link, which the frame's script has."""

from types import SimpleNamespace
from typing import Any, Final

from postroad.api.answering import MEDIA_TYPE
from postroad.api.app import Application
from postroad.api.problems import problem
from postroad.api.request import Request, Response
from postroad.api.routing import nothing_at, read_query
from postroad.dashboard import guarding
from postroad.dashboard.answers import HTML
from postroad.dashboard.application import Dashboard
from postroad.dashboard.asking import PageApi, ProblemAnswer
from postroad.dashboard.forms import read_form
from postroad.dashboard.portal.actions import ACTIONS
from postroad.dashboard.portal.colours import look
from postroad.dashboard.portal.texts import texts_for
from postroad.dashboard.portal.views import PAGES, PortalView
from postroad.dashboard.rendering import render
from postroad.model.errors import BadUrl, NoBody, PostroadError, Unauthorized
from postroad.model.portal import PortalLink
from postroad.model.problem import Problem, kind

ROOT: Final = "portal"
FORM_BYTES_MAX: Final = 64 << 10
FIELDS_MAX: Final = 50
ANYWHERE: Final = "*"
"""Who may embed a page that only says that its link has ended: it shows and does nothing."""

REFUSALS: Final = {kind(BadUrl): "url_bad", kind(NoBody): "again_none"}
"""The texts of problems whose own sentences are for the operator."""


class Portal:
    """Answers for the portal, and passes on to the other pages what is none of it."""

    def __init__(self, api: Application) -> None:
        self._api = api
        self._context = api.context
        self._others = Dashboard(api)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        raw: str = scope["raw_path"].decode("latin-1")
        parts = raw.rstrip("/").split("/")[1:]
        if len(parts) < 2 or parts[0] != ROOT:
            await self._others(scope, receive, send)
            return
        request = Request(scope, receive, self._context)
        request.body_bytes_max = FORM_BYTES_MAX
        scope["path_template"] = "/portal/{id}"
        reply = await self._reply(request, parts[1], parts[2:])
        for name, text in guarding.HEADERS.items():
            reply.headers.setdefault(name, text)
        await self._api.reply(reply, request, send)

    async def _reply(self, request: Request, link_id: str, rest: list[str]) -> Response[Any]:
        try:
            await self._context.access.check(request, None)  # host and origin
            if not rest and request.method in ("GET", "HEAD"):
                return await self._frame(request, link_id)
            if rest == ["look.css"]:
                link = await self._context.road.portal.find(link_id)
                sheet = look(link.accent) if link else b""
                return Response(sheet, media_type="text/css; charset=utf-8")
            return await self._inside(request, link_id, rest)
        except ProblemAnswer as error:
            return _refused(error.problem)
        except Exception as error:  # noqa: BLE001 - a fault of ours is answered without its trace
            if not isinstance(error, PostroadError):
                self._api.log_fault(request, error)
            return _refused(problem(error))

    async def _frame(self, request: Request, link_id: str) -> Response[Any]:
        """The frame of the page, without anything of the tenant. Who may embed it is in a header:
        so the link's id, and not only its code, must reach the server."""
        link = await self._context.road.portal.find(link_id)
        texts = _texts(request)
        if link is None:
            html = render("portal/gone.html", t=texts)
            return Response(html.encode(), 404, _framed((ANYWHERE,)), HTML)
        now_ms = self._context.road.store.clock.now_ms()
        html = render("portal/frame.html", t=texts, link=link, now_ms=now_ms)
        return Response(html.encode(), 200, _framed(link.origins), HTML)

    async def _inside(self, request: Request, link_id: str, rest: list[str]) -> Response[Any]:
        who = await self._context.access.identify(request)
        link = await self._context.road.portal.find(link_id)
        if link is None or who.only is None or who.token != link.id:
            raise Unauthorized("this token is not of this link")
        if request.method == "POST" and rest[:1] == ["do"] and len(rest) == 2:
            return await self._act(request, link, rest[1])
        if request.method == "GET" and rest[:1] == ["pages"]:
            return await self._page(request, link, rest[1:])
        raise nothing_at(request.path)

    async def _page(self, request: Request, link: PortalLink, rest: list[str]) -> Response[Any]:
        found = PAGES.get((rest[0], len(rest) - 1)) if rest else None
        if found is None:
            raise nothing_at(request.path)
        template, load = found
        query = dict(read_query(request.query)) if request.query else {}
        texts = _texts(request)
        view = PortalView(PageApi(self._api, request), link, tuple(rest[1:]), query, texts)
        shown = await load(view)
        html = render(f"portal/{template}.html", t=texts, view=view, **shown)
        return Response(html.encode(), media_type=HTML)

    async def _act(self, request: Request, link: PortalLink, name: str) -> Response[Any]:
        if name not in ACTIONS:
            raise nothing_at(request.path)
        form, texts = await read_form(request, FIELDS_MAX), _texts(request)
        view = PortalView(PageApi(self._api, request), link, (), {}, texts)
        try:
            done = await ACTIONS[name](view, form)
        except ProblemAnswer as error:
            key = REFUSALS.get(error.problem.type)
            told = getattr(texts, key) if key else error.problem.detail
            return Response({"said": told, "bad": True})
        said, html = getattr(texts, done.said).format(**done.named), ""
        if done.secret:
            html = render("portal/secret.html", t=texts, said=said, done=done)
        return Response({"said": said, "go": done.go, "html": html})


def _texts(request: Request) -> SimpleNamespace:
    return texts_for(request.headers.get("accept-language", ""))


def _framed(origins: tuple[str, ...]) -> dict[str, str]:
    who = " ".join(origins) or "'none'"
    policy = guarding.POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {who}")
    return {"content-security-policy": policy}


def _refused(told: Problem) -> Response[Any]:
    return Response(told, told.status, media_type=MEDIA_TYPE)
