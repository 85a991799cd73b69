"""The pages over ASGI, before the API: who looks, which page, which form. What is no page of ours
is answered by the API."""

from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote

from postroad.api.answering import answer
from postroad.api.app import Application
from postroad.api.problems import BadRequest, MethodNotAllowed, problem
from postroad.api.request import Request, Response, Stream
from postroad.api.routing import nothing_at, read_query
from postroad.dashboard import guarding
from postroad.dashboard.asking import PageApi, ProblemAnswer
from postroad.dashboard.jobs import PageJobs
from postroad.dashboard.pages import ACTIONS, FILES, PAGES, find_page
from postroad.dashboard.paging import ActionResult, Form, PageView, WebPage
from postroad.dashboard.passing import PassOn, pass_on
from postroad.dashboard.regions import Regions
from postroad.dashboard.rendering import MEDIA, assets, release, render
from postroad.model.errors import PostroadError, Unauthorized
from postroad.model.problem import Problem
from postroad.model.tokens import Scope
from postroad.verbs.sessions import SESSION_S
from postroad.verbs.tokens import check_one_tenant, is_one_tenant
from postroad.version import VERSION

HTML: Final = "text/html; charset=utf-8"
EVENTS: Final = "text/event-stream"
FORM_BYTES_MAX: Final = 1 << 20
FIELDS_MAX: Final = 5_000
STATIC: Final = "/static/"
LOGIN: Final = "/login"
OWN: Final = (LOGIN, "/logout", "/live", "/tenant", "/theme")
THEMES: Final = ("", "light", "dark")
YEAR_S: Final = 31_536_000
REGION: Final = "postroad-region"
"""A script asks for some regions of a page, by their names."""
FETCH: Final = "postroad-fetch"
"""A script sends a form, and shows what came of it itself."""
NOTICE_S: Final = 20
FOREVER: Final = {"cache-control": "public, max-age=31536000, immutable"}


class Dashboard:
    """Answers for pages, and passes on to the API what is none."""

    def __init__(self, api: Application) -> None:
        self._api = api
        self._context = api.context
        clock = api.context.road.store.clock
        self._regions = Regions(clock)
        self._jobs = PageJobs(api.context.log, clock)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        raw: str = scope["raw_path"].decode("latin-1")
        path = raw.rstrip("/") or "/"
        found = find_page(path)
        ours = found is not None or path in OWN or path in FILES
        if not ours and path not in ACTIONS and not path.startswith(STATIC):
            await self._api(scope, receive, send)
            return
        request = Request(scope, receive, self._context)
        request.body_bytes_max = FORM_BYTES_MAX
        scope["path_template"] = found[0].path if found else path if ours else "/pages"
        reply = await self._reply(request, path, found)
        if isinstance(reply, PassOn):
            await pass_on(self._api, request, reply, scope, receive, send)
            return
        for name, text in guarding.HEADERS.items():
            reply.headers.setdefault(name, text)
        await self._api.reply(reply, request, send)

    async def _reply(
        self, request: Request, path: str, found: tuple[WebPage, dict[str, str]] | None
    ) -> Response[Any] | Stream | PassOn:
        try:
            await self._context.access.check(request, None)  # host and origin
            if path.startswith(STATIC):
                return _asset(path)
            if path == LOGIN:
                return await self._login(request)
            return await self._answer(request, path, found)
        except Unauthorized:
            return _away(request)
        except ProblemAnswer as error:
            return _failed(request, error.problem)
        except Exception as error:  # noqa: BLE001 - a fault of ours is told without its trace
            if not isinstance(error, PostroadError):
                self._api.log_fault(request, error)
            return _failed(request, problem(error))

    async def _answer(
        self, request: Request, path: str, found: tuple[WebPage, dict[str, str]] | None
    ) -> Response[Any] | Stream | PassOn:
        await self._identify(request)
        if request.method == "POST":
            guarding.check_own_form(request)
        if path in FILES:
            page, give = FILES[path]
            return await give(self._view(request, page, {}, request.query))
        if request.method == "POST":
            return await self._act(request, path)
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(f"{request.method} is not answered here: use GET or POST")
        if path == "/live":
            return self._live(request)
        if found is None:
            raise nothing_at(path)
        page, values = found
        view = self._view(request, page, values, request.query)
        names = request.headers.get(REGION)
        if names is not None:
            return await self._some(page, view, names.split(","))
        return await self._page(request, page, view)

    async def _identify(self, request: Request) -> None:
        """Find out whose session it is: `request.who`."""
        given = guarding.cookies(request)
        session = given.get(guarding.cookie_name(request, guarding.SESSION), "")
        if not session:
            raise Unauthorized("log in first")
        request.headers["authorization"] = f"Bearer {session}"
        who = await self._context.access.identify(request)
        tenant = unquote(given.get(guarding.cookie_name(request, guarding.TENANT), ""))
        if who.every_tenant and is_one_tenant(tenant):  # else the cookie is ignored
            request.headers["postroad-tenant"] = tenant
        await self._context.access.check(request, Scope.read)

    def _view(
        self, request: Request, page: WebPage, values: dict[str, str], query: bytes
    ) -> PageView:
        path = page.path
        for name, value in values.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        given = dict(read_query(query)) if query else {}
        return PageView(PageApi(self._api, request), self._jobs, request.who, path, given, values)

    async def _page(self, request: Request, page: WebPage, view: PageView) -> Response[bytes]:
        shown = {
            region.name: (await self._regions.get(page, region, view)).html
            for region in page.regions
        }
        name = guarding.cookie_name(request, guarding.NOTICE)
        notice = unquote(guarding.cookies(request).get(name, ""))
        frame = {**_frame(request), "view": view, "page": page, "notice": notice}
        html = render(f"{page.name}/page.html", region=shown, **frame)
        drop = {"set-cookie": guarding.cookie(request, guarding.NOTICE, "", 0)} if notice else {}
        return Response(html.encode(), 200, drop, HTML)

    async def _some(self, page: WebPage, view: PageView, names: list[str]) -> Response[bytes]:
        wanted = [region for region in page.regions if region.name in names]
        html = [(await self._regions.get(page, region, view)).html for region in wanted]
        return Response("".join(html).encode(), media_type=HTML)

    def _live(self, request: Request) -> Stream:
        """Tell a page which of its regions are stale."""
        query = dict(read_query(request.query)) if request.query else {}
        path, _, inner = query.get("page", "/").partition("?")
        found = find_page(path.rstrip("/") or "/")
        if found is None:
            raise nothing_at(path)
        view = self._view(request, *found, inner.encode("latin-1", "replace"))
        seen = dict(pair.split(":", 1) for pair in query.get("seen", "").split(",") if ":" in pair)
        pieces = self._regions.watch(found[0], view, seen, partial(self._may_go_on, request))
        return Stream(pieces, EVENTS)

    async def _may_go_on(self, request: Request) -> bool:
        try:
            _ = await self._context.access.identify(request)  # only whether the session goes on
        except Unauthorized:
            return False
        return not self._context.stopping

    async def _act(self, request: Request, path: str) -> Response[Any]:
        form = await _form(request)
        if path == "/logout":
            api = PageApi(self._api, request)
            await api.do("/v1/logout", None)
            gone = guarding.cookie(request, guarding.SESSION, "", 0)
            return _go(LOGIN, {"set-cookie": gone, "clear-site-data": '"cache", "storage"'})
        if path == "/tenant":
            chosen = form.one("tenant").strip()
            if chosen:
                check_one_tenant(chosen)
                await PageApi(self._api, request).check_tenant(chosen)
            kept = guarding.cookie(request, guarding.TENANT, chosen, SESSION_S if chosen else 0)
            return _go("/", {"set-cookie": kept})
        if path == "/theme":
            chosen = form.one("theme") if form.one("theme") in THEMES else ""
            kept = guarding.cookie(request, guarding.THEME, chosen, YEAR_S)
            return _go(_own_address(form.one("back"), "/"), {"set-cookie": kept})
        if path not in ACTIONS:
            raise nothing_at(path)
        page, act = ACTIONS[path]
        back = _own_address(form.one("back"), page.path)
        view = self._view(request, page, {}, b"")
        try:
            done, bad = await act(view, form), False
        except ProblemAnswer as error:
            done, bad = ActionResult(error.problem.detail), True
        self._regions.forget()
        if done.page:
            shown = {**_frame(request), "view": view, "page": page, "notice": "", "back": back}
            html = render(done.page, **(shown | done.shown))
            return Response(html.encode(), media_type=HTML)
        if FETCH in request.headers:
            return Response({"notice": done.notice, "bad": bad, "go": done.go})
        told = quote(("! " if bad else "") + done.notice[:1_000], safe="")
        kept = guarding.cookie(request, guarding.NOTICE, told, NOTICE_S)
        return _go(done.go or back, {"set-cookie": kept})

    async def _login(self, request: Request) -> Response[Any]:
        if request.method == "POST":
            guarding.check_own_form(request)
            code = (await _form(request)).need("code")
            for name in ("authorization", "postroad-tenant"):
                request.headers.pop(name, None)
            try:
                made = await PageApi(self._api, request).post("/v1/sessions", {"code": code})
            except ProblemAnswer as error:
                told = error.problem
                return _html(request, "login.html", told.status, code="", said=told.detail)
            kept = guarding.cookie(request, guarding.SESSION, made["secret"], SESSION_S)
            return _go("/", {"set-cookie": kept})
        query = dict(read_query(request.query)) if request.query else {}
        return _html(request, "login.html", 200, code=query.get("code", ""), said="")


async def _form(request: Request) -> Form:
    text = (await request.body()).decode("latin-1")
    try:
        return Form(parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX))
    except ValueError:
        raise BadRequest(f"a form has at most {FIELDS_MAX} fields: choose fewer") from None


def _asset(path: str) -> Response[Any]:
    digest, _, name = path.removeprefix(STATIC).partition("/")
    if digest != release() or name not in assets():
        raise nothing_at(path)
    return Response(assets()[name], 200, FOREVER, MEDIA[name.rpartition(".")[2]])


def _away(request: Request) -> Response[Any]:
    """Lead a browser without a session to the login page; tell a script so."""
    if (
        REGION in request.headers
        or FETCH in request.headers
        or EVENTS in request.headers.get("accept", "")
    ):
        return answer(Unauthorized("your session has ended: log in again"))
    return _go(LOGIN, {})


def _go(place: str, headers: dict[str, str]) -> Response[Any]:
    return Response(b"", 303, {"location": place, **headers}, HTML)


def _own_address(text: str, otherwise: str) -> str:
    """An address of this site that a form names, and no other."""
    own = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return quote(text, safe="/:?&=%+,;@!$'()*~") if own and len(text) < 4_000 else otherwise


def _frame(request: Request) -> dict[str, Any]:
    """What all pages show."""
    name = guarding.cookie_name(request, guarding.THEME)
    chosen = guarding.cookies(request).get(name, "")
    theme = chosen if chosen in THEMES else ""
    return {"pages": PAGES, "theme": theme, "version": VERSION}


def _html(request: Request, template: str, status: int, **shown: Any) -> Response[Any]:
    html = render(template, **_frame(request), **shown)
    return Response(html.encode(), status, media_type=HTML)


def _failed(request: Request, told: Problem) -> Response[Any]:
    if FETCH in request.headers:
        return Response({"notice": told.detail, "bad": True, "go": ""}, told.status)
    return _html(request, "failed.html", told.status, problem=told)
