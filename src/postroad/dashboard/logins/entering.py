"""The login page, and who comes in how: by a link, by a provider, or by a proxy's word."""

from contextlib import suppress
from typing import Any, Final

from postroad.api.app import Application
from postroad.api.links import exchange_link
from postroad.api.login_file import Member, ProxyLogin
from postroad.api.problems import MethodNotAllowed, status_of
from postroad.api.request import Request, Response
from postroad.api.routing import nothing_at, read_query
from postroad.dashboard import guarding
from postroad.dashboard.answers import FIELDS_MAX, go, html_page
from postroad.dashboard.asking import PageApi, ProblemAnswer
from postroad.dashboard.forms import read_form
from postroad.dashboard.logins.openid import BACK, FLOW, OpenIdLogin
from postroad.dashboard.logins.provider import ProviderAway
from postroad.model.errors import Forbidden, PostroadError, Unauthorized, UnknownToken
from postroad.model.networks import Proxies, network
from postroad.model.tokens import EVERY_TENANT, SCOPES_OF, Caller
from postroad.verbs.sessions import SESSION_S

LOGIN: Final = "/login"
BEGIN: Final = "/login/openid"
LEAVE: Final = "/login/leave"
PATHS: Final = (LOGIN, BEGIN, BACK, LEAVE)
OUT: Final = "/login?out=1"
BAD_GATEWAY: Final = 502
NOT_A_MEMBER: Final = (
    "{name} may not use this server: ask its operator for a rule under members in login_file"
)


class Logins:
    """Lets people in, each with a session of their role."""

    def __init__(self, api: Application) -> None:
        self._api = api
        self._context = api.context
        self._file = api.context.login_file
        clock = api.context.road.store.clock
        self._openid = OpenIdLogin(self._file.openid, clock) if self._file.openid else None
        self._proxies = Proxies(self._file.proxy.addresses if self._file.proxy else ())
        self._ignored = False
        self.after = OUT if self._file.openid or self._file.proxy else LOGIN
        """Where people go who have logged out: nobody is let in again at once."""

    async def answer(self, request: Request, path: str) -> Response[Any]:
        """Answer one request to the login page and what is under it."""
        if request.method == "POST" and path == LOGIN:
            return await self._open(request)
        if request.method not in ("GET", "HEAD"):
            guarding.check_own_form(request)
            raise MethodNotAllowed(f"{request.method} is not answered here: use GET")
        given = dict(read_query(request.query)) if request.query else {}
        if path == LOGIN:
            return await self._page(request, given)
        if self._openid is None:
            raise nothing_at(path)
        try:
            return await self._by_openid(request, path, self._openid, given)
        except ProviderAway as error:
            self._context.log.warning("the OpenID provider cannot be used", error=str(error))
            return self._shown(request, BAD_GATEWAY, said=str(error))
        except PostroadError as error:
            gone = guarding.cookie(request, FLOW, "", 0, same_site="Lax")
            return self._shown(request, status_of(type(error)), gone, said=str(error))

    async def check_person(self, request: Request, who: Caller) -> None:
        """End a session that is not that of the person whom the proxy names, or whose person has
        another role now or none: Unauthorized or Forbidden."""
        try:
            person = self._named(request)
        except Forbidden:
            await self._end(who)
            raise
        if person is not None and not _is_of(who, person):
            await self._end(who)
            raise Unauthorized("the proxy names another person than the session")

    async def _end(self, who: Caller) -> None:
        with suppress(UnknownToken):  # another request has ended it
            await self._context.road.sessions.end(who.token)
        self._context.access.forget()

    async def _page(self, request: Request, given: dict[str, str]) -> Response[Any]:
        person = self._named(request)
        if person is not None and not given.keys() & {"out", "code"} and request.method == "GET":
            if await self._is_in(request, person):
                return go("/")
            return await self._let_in(request, person)
        code = given.get("code", "")
        return self._shown(request, 200, code=code, out="out" in given, person=person)

    async def _is_in(self, request: Request, person: Member) -> bool:
        """Whether the browser has a session of this person already."""
        name = guarding.cookie_name(request, guarding.SESSION)
        session = guarding.cookies(request).get(name, "")
        request.headers["authorization"] = f"Bearer {session}"
        try:
            return bool(session) and _is_of(await self._context.access.identify(request), person)
        except Unauthorized:
            return False
        finally:
            del request.headers["authorization"]

    def _shown(self, request: Request, status: int, *cookies: str, **more: Any) -> Response[Any]:
        usual = {"code": "", "said": "", "out": False, "person": None}
        provider = self._openid.name if self._openid else ""
        shown = {**usual, **more, "provider": provider}
        return html_page(request, "login.html", status, *cookies, **shown)

    async def _open(self, request: Request) -> Response[Any]:
        """Exchange the code of a login link."""
        guarding.check_own_form(request)
        code = (await read_form(request, FIELDS_MAX)).need("code")
        for name in ("authorization", "postroad-tenant"):
            request.headers.pop(name, None)
        try:
            made = await PageApi(self._api, request).post("/v1/sessions", {"code": code})
        except ProblemAnswer as error:
            return self._shown(request, error.problem.status, said=error.problem.detail)
        return go("/", guarding.cookie(request, guarding.SESSION, made["secret"], SESSION_S))

    async def _by_openid(
        self, request: Request, path: str, openid: OpenIdLogin, given: dict[str, str]
    ) -> Response[Any]:
        if path == BEGIN:
            place, kept = await openid.begin(request)
            return go(place, kept)
        if path == LEAVE:
            return go(await openid.leave(request) or OUT)
        tries, address = self._context.login_tries, request.client[0] if request.client else ""
        tries.count(network(address))
        name, claims = await openid.end(request, given)
        tries.forgive(network(address))
        person = self._file.member(name, claims)
        if person is None:
            raise Forbidden(NOT_A_MEMBER.format(name=name[:100]))
        return await self._let_in(request, person)

    async def _let_in(self, request: Request, person: Member) -> Response[Any]:
        """Give a person a session, by a link that is opened at once. A browser that comes from
        another site sends a strict cookie with the next page only, which ours leads to."""
        sessions = self._context.road.sessions
        link = await sessions.login(person.name, role=person.role, tenant=person.tenant)
        made = await exchange_link(request, "session_open", link.code, sessions.open)
        kept = guarding.cookie(request, guarding.SESSION, made.secret, SESSION_S)
        gone = guarding.cookie(request, FLOW, "", 0, same_site="Lax")
        return html_page(request, "arrived.html", 200, kept, gone, name=person.name)

    def _named(self, request: Request) -> Member | None:
        """The person whom a proxy of ours names; None if there is no such word."""
        proxy = self._file.proxy
        user = request.headers.get(proxy.user_header.lower(), "").strip() if proxy else ""
        if proxy is None or not user:
            return None
        if not self._proxies.has(request.sender):
            self._ignore(proxy, request.sender)
            return None
        if "," in user:
            raise Forbidden(f"the proxy's header {proxy.user_header} came twice or has a comma")
        groups = request.headers.get(proxy.groups_header.lower(), "").split(",")
        claims = {"user": user, "groups": [each.strip() for each in groups if each.strip()]}
        person = self._file.member(user, claims)
        if person is None:
            raise Forbidden(NOT_A_MEMBER.format(name=user[:100]))
        return person

    def _ignore(self, proxy: ProxyLogin, address: str) -> None:
        if not self._ignored:
            self._ignored = True
            self._context.log.warning(
                "a header that names a person was ignored: login_file has no proxy at this address",
                header=proxy.user_header,
                address=address,
            )


def _is_of(who: Caller, person: Member) -> bool:
    """Whether a session is that of a person, as its role and tenant are now."""
    every = person.tenant == EVERY_TENANT
    same = who.name == person.name and who.scopes == frozenset(SCOPES_OF[person.role])
    return same and who.every_tenant == every and (every or who.tenant == person.tenant)
