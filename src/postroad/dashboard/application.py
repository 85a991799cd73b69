"""The pages over ASGI, before the API: who looks, which page, which form. What is no page of ours
is answered by the API."""

from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final
from urllib.parse import quote, unquote

from postroad.api.answering import MEDIA_TYPE as PROBLEM
from postroad.api.answering import answer
from postroad.api.app import Application
from postroad.api.problems import MethodNotAllowed, NotFound, problem
from postroad.api.request import Request, Response, Stream
from postroad.api.routing import CHARACTERS_SHOWN, nothing_at, read_query
from postroad.dashboard import guarding
from postroad.dashboard.answers import (
    FIELDS_MAX,
    HTML,
    THEMES,
    WATCHED_MAX,
    frame,
    go,
    html_page,
)
from postroad.dashboard.asking import PageApi, ProblemAnswer
from postroad.dashboard.forms import read_form, read_upload
from postroad.dashboard.jobs import PageJobs
from postroad.dashboard.keeping import Keeper
from postroad.dashboard.logins.entering import LOGIN, PATHS, Logins
from postroad.dashboard.pages import ACTIONS, FILES, UPLOADS, find_page
from postroad.dashboard.paging import QUESTION, ActionResult, Form, PageView, WebPage
from postroad.dashboard.passing import PassOn, pass_on
from postroad.dashboard.regions import Regions
from postroad.dashboard.rendering import MEDIA, assets, release, render
from postroad.dashboard.submissions import PageQuestion, Submissions, mark_forms
from postroad.model.errors import Forbidden, PostroadError, Unauthorized
from postroad.model.problem import Problem
from postroad.model.tokens import Scope
from postroad.verbs.sessions import SESSION_S
from postroad.verbs.tokens import check_one_tenant, is_one_tenant

EVENTS: Final = "text/event-stream"
FORM_BYTES_MAX: Final = 1 << 20
STATIC: Final = "/static/"
OWN: Final = (*PATHS, "/logout", "/live", "/tenant", "/theme", "/question")
YEAR_S: Final = 31_536_000
REGION: Final = "postroad-region"
"""A script asks for some regions of a page, by their names."""
FETCH: Final = "postroad-fetch"
"""A script sends the form and shows the answer itself."""
NOTICE_S: Final = 20
FOREVER: Final = {"cache-control": "public, max-age=31536000, immutable"}


class Dashboard:
    """Answers for pages, and passes on to the API what is none."""

    def __init__(self, api: Application) -> None:
        self._api = api
        self._context = api.context
        clock = api.context.road.store.clock
        self._keeper = Keeper(clock)
        self._regions = Regions(clock, self._keeper)
        self._logins = Logins(api)
        self._jobs = PageJobs(api.context.log, clock)
        self._watching: Counter[str] = Counter()
        self._submissions = Submissions()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        raw: str = scope["raw_path"].decode("latin-1")
        path = raw.rstrip("/") or "/"
        found = find_page(path)
        ours = found is not None or path in OWN or path in FILES
        known = ours or path in ACTIONS or path.startswith(STATIC)
        request = Request(scope, receive, self._context)
        if not known and not _wants_page(request):
            await self._api(scope, receive, send)
            return
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
            if path in PATHS:
                return await self._logins.answer(request, path)
            return await self._answer(request, path, found)
        except Unauthorized:
            return _away(request)
        except ProblemAnswer as error:
            return _failed(request, error.problem)
        except Exception as error:  # noqa: BLE001 - a fault of ours is answered without its trace
            if not isinstance(error, PostroadError):
                self._api.log_fault(request, error)
            return _failed(request, problem(error))

    async def _answer(
        self, request: Request, path: str, found: tuple[WebPage, dict[str, str]] | None
    ) -> Response[Any] | Stream | PassOn:
        await self._identify(request)
        if request.method not in ("GET", "HEAD"):
            guarding.check_own_form(request)
        if path in FILES:
            page, give = FILES[path]
            return await give(self._view(request, page, {}, _query(request.query)))
        if request.method == "POST":
            return await self._act(request, path)
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(f"{request.method} is not answered here: use GET or POST")
        if path == "/live":
            return self._live(request)
        if path == "/question":
            return self._question(request)
        if found is None:
            shown = path[:CHARACTERS_SHOWN]
            raise NotFound(f"there is no page at {shown}: the overview leads to those that are")
        page, values = found
        if page.scope not in request.who.scopes:
            raise Forbidden(f"this page is for people with the scope {page.scope}")
        view = self._view(request, page, values, page.own_query(_query(request.query)))
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
        await self._logins.check_person(request, who)
        tenant = unquote(given.get(guarding.cookie_name(request, guarding.TENANT), ""))
        if who.every_tenant and is_one_tenant(tenant):  # else the cookie is ignored
            request.headers["postroad-tenant"] = tenant
        await self._context.access.check(request, Scope.read)

    def _view(
        self, request: Request, page: WebPage, values: dict[str, str], query: dict[str, str]
    ) -> PageView:
        path = page.path
        for name, value in values.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        here = (PageApi(self._api, request), self._jobs, self._keeper)
        chosen = request.headers.get("postroad-tenant", "")
        return PageView(*here, request.who, path, query, values, chosen)

    async def _page(self, request: Request, page: WebPage, view: PageView) -> Response[bytes]:
        regions = {one.name: await self._regions.get(page, one, view) for one in page.regions}
        shown = {name: one.html for name, one in regions.items()}
        status = max((one.status for one in regions.values()), default=200)
        name = guarding.cookie_name(request, guarding.NOTICE)
        notice = unquote(guarding.cookies(request).get(name, ""))
        more = {**frame(request), "view": view, "page": page, "notice": notice}
        html = render(f"{page.name}/page.html", region=shown, **more)
        drop = (guarding.cookie(request, guarding.NOTICE, "", 0),) if notice else ()
        return Response(mark_forms(html).encode(), status, media_type=HTML, cookies=drop)

    def _question(self, request: Request) -> Response[Any]:
        """Ask what a form has to be asked about."""
        number = _query(request.query).get("id", "")
        asked = self._submissions.question(number, request.who.token)
        if asked is None:
            raise NotFound("this question is not remembered: go back to the page, and ask again")
        return self._instead(request, asked.page, asked.template, asked.shown, asked.back)

    def _instead(
        self, request: Request, page: WebPage, template: str, shown: dict[str, Any], back: str
    ) -> Response[Any]:
        view = self._view(request, page, {}, {})
        all_shown = {**frame(request), "view": view, "page": page, "notice": "", "back": back}
        html = render(template, **(all_shown | shown))
        return Response(mark_forms(html).encode(), media_type=HTML)

    async def _some(self, page: WebPage, view: PageView, names: list[str]) -> Response[bytes]:
        wanted = [region for region in page.regions if region.name in names]
        html = [(await self._regions.get(page, region, view)).html for region in wanted]
        return Response(mark_forms("".join(html)).encode(), media_type=HTML)

    def _live(self, request: Request) -> Stream:
        """Tell a page which of its regions are stale."""
        query = _query(request.query)
        path, _, inner = query.get("page", "/").partition("?")
        found = find_page(path.rstrip("/") or "/")
        if found is None:
            raise nothing_at(path)
        page, values = found
        shown = page.own_query(_query(inner.encode("latin-1", "replace")))
        view = self._view(request, page, values, shown)
        seen = dict(pair.split(":", 1) for pair in query.get("seen", "").split(",") if ":" in pair)
        pieces = self._regions.watch(page, view, seen, partial(self._may_go_on, request))
        return self._counted(request.who.token, Stream(pieces, EVENTS))

    def _counted(self, session: str, stream: Stream) -> Stream:
        """Open a stream, if the session has not too many. A browser shows no refusal of a stream,
        so the stream itself says it."""
        if self._watching[session] >= WATCHED_MAX:
            return Stream(_full(), EVENTS)
        self._watching[session] += 1

        async def ended(_: int) -> None:
            self._watching[session] -= 1
            self._watching += Counter()  # forgets those without any

        stream.ended = ended
        return stream

    async def _may_go_on(self, request: Request) -> bool:
        try:
            _ = await self._context.access.identify(request)  # only whether the session goes on
        except Unauthorized:
            return False
        return not self._context.stopping

    async def _act(self, request: Request, path: str) -> Response[Any]:
        form = await _form(request, path)
        if path == "/logout":
            api = PageApi(self._api, request)
            await api.do("/v1/logout", None)
            names = (guarding.SESSION, guarding.TENANT)
            gone = [guarding.cookie(request, name, "", 0) for name in names]
            return go(self._logins.after, *gone, clear=True)
        if path == "/tenant":
            chosen = form.one("tenant").strip()
            if chosen:
                check_one_tenant(chosen)
                await PageApi(self._api, request).check_tenant(chosen)
            kept = guarding.cookie(request, guarding.TENANT, chosen, SESSION_S if chosen else 0)
            return go(_own_address(form.one("back"), "/"), kept)
        if path == "/theme":
            chosen = form.one("theme") if form.one("theme") in THEMES else ""
            kept = guarding.cookie(request, guarding.THEME, chosen, YEAR_S)
            return go(_own_address(form.one("back"), "/"), kept)
        if path not in ACTIONS:
            raise nothing_at(path)
        return await self._act_once(request, path, form)

    async def _act_once(self, request: Request, path: str, form: Form) -> Response[Any]:
        page, act = ACTIONS[path]
        back = _own_address(form.one("back"), page.path)
        view, session = self._view(request, page, {}, {}), request.who.token
        quiet = FETCH in request.headers  # a script sends a form once, and often the same one
        claim = b""
        try:
            claim = b"" if quiet else self._submissions.claim(session, path, form)
            done, bad = await act(view, form), False
        except ProblemAnswer as error:
            self._submissions.release(claim)
            done, bad = ActionResult(error.problem.detail), True
        self._keeper.forget()
        if done.page == QUESTION and not quiet:
            self._submissions.release(claim)
            asked = PageQuestion(session, page, done.page, done.shown, back)
            return go(self._submissions.ask(asked))
        if done.page:
            return self._instead(request, page, done.page, done.shown, back)
        if quiet:
            return Response({"notice": done.notice, "bad": bad, "go": done.go})
        told = guarding.fitting(("! " if bad else "") + done.notice)
        kept = guarding.cookie(request, guarding.NOTICE, told, NOTICE_S)
        return go(done.go or back, kept)


def _query(query: bytes) -> dict[str, str]:
    return dict(read_query(query)) if query else {}


async def _form(request: Request, path: str) -> Form:
    return await (read_upload(request) if path in UPLOADS else read_form(request, FIELDS_MAX))


async def _full() -> AsyncIterator[bytes]:
    yield b"event: full\ndata: {}\n\n"


def _wants_page(request: Request) -> bool:
    """Whether a browser asks for a page: a missing page is answered with one."""
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


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
    return go(LOGIN)


def _own_address(text: str, otherwise: str) -> str:
    """An address of this site that a form names, and no other."""
    own = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return quote(text, safe="/:?&=%+,;@!$'()*~") if own and len(text) < 4_000 else otherwise


def _failed(request: Request, told: Problem) -> Response[Any]:
    if FETCH in request.headers:
        return Response({"notice": told.detail, "bad": True, "go": ""}, told.status)
    if REGION in request.headers:
        return Response(told, told.status, media_type=PROBLEM)
    return html_page(request, "failed.html", told.status, problem=told)
