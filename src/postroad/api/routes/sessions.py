"""Sessions of people in browsers: make a login link, open, list and end sessions."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.links import open_link
from postroad.api.request import Request
from postroad.api.routing import drop, fetch, give
from postroad.model.texts import Name
from postroad.model.tokens import EVERY_TENANT, Role, Scope, Token
from postroad.verbs.sessions import NewLogin
from postroad.verbs.tokens import NewToken


class LoginRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Who will log in, and as what. Without a tenant it is as the request: for every tenant, or for
    that of its token or of its header `Postroad-Tenant`."""

    name: Annotated[Name, Meta(min_length=1)]
    role: Role = Role.admin
    tenant: Name = ""


class LoginLink(Struct, frozen=True):
    """A link that logs in once. `url` is whole where this process serves pages."""

    url: str
    path: str
    ends_at_ms: int


class SessionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The code of a login link."""

    code: Annotated[str, Meta(min_length=1, max_length=200)]


@give("/v1/logins", scope=Scope.admin, status=201)
async def login_make(request: Request, asked: LoginRequest) -> LoginLink:
    """Make a login link, good once within 15 minutes. It is in this answer and nowhere else."""
    who = request.who
    every = who.every_tenant and request.headers.get("postroad-tenant") is None
    tenant = asked.tenant or (EVERY_TENANT if every else who.tenant)
    made = await request.road.sessions.login(asked.name, role=asked.role, tenant=tenant, by=who)
    return login_link(made, request.context.url)


def login_link(made: NewLogin, url: str) -> LoginLink:
    """The link of a login code."""
    path = f"/login?code={made.code}"
    return LoginLink(f"{url}{path}" if url else "", path, made.ends_at_ms)


@give("/v1/sessions", scope=None, status=201, by_code=True)
async def session_open(request: Request, asked: SessionRequest) -> NewToken:
    """Exchange the code of a login link for a session, which works as a token until it ends."""
    return await open_link(request, "session_open", asked.code, request.road.sessions.open)


@fetch("/v1/sessions", scope=Scope.admin)
async def session_list(request: Request) -> list[Token]:
    """List the sessions of the tenant; a token of every tenant sees all of them."""
    asker = request.who
    every = asker.every_tenant and request.headers.get("postroad-tenant") is None
    return await request.road.sessions.list(tenant=None if every else asker.tenant)


@drop("/v1/sessions/{id}", scope=Scope.admin, status=204)
async def session_end(request: Request, id: str) -> None:  # noqa: A002
    """End a session: its browser is led to the login page."""
    here, asker = request.context, request.who
    await here.road.sessions.end(id, tenant=None if asker.every_tenant else asker.tenant)
    here.access.forget()


@give("/v1/logout", scope=None, any_scope=True, status=204)
async def logout(request: Request) -> None:
    """End the session that asks. A program's token is revoked by `DELETE /v1/tokens/{id}`."""
    here = request.context
    await here.road.sessions.end(request.who.token)
    here.access.forget()


ROUTES: Final = (login_make, session_open, session_list, session_end, logout)
