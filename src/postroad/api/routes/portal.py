"""Links to the portal of a tenant: make, open, list and revoke them."""

from typing import Annotated, Final

from msgspec import Meta, Struct, structs

from postroad.api.links import open_portal
from postroad.api.request import Request
from postroad.api.routing import drop, fetch, give
from postroad.model.portal import MINUTES_MAX, ORIGINS_MAX, PortalLink, PortalRight, PortalTheme
from postroad.model.texts import Name
from postroad.model.tokens import Scope
from postroad.verbs.portal import NewPortalLink
from postroad.verbs.tokens import NewToken


class PortalRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose portal the link opens, for how long, and what it allows there; without a tenant it is
    that of the token. `origins` may embed it, as `https://app.example.com`."""

    tenant: Name = ""
    minutes: Annotated[int, Meta(ge=1, le=MINUTES_MAX)] = 60
    allow: tuple[PortalRight, ...] = tuple(PortalRight)
    origins: Annotated[tuple[Name, ...], Meta(max_length=ORIGINS_MAX)] = ()
    title: Name = ""
    accent: Name = ""
    theme: PortalTheme = PortalTheme.system


class PortalCode(Struct, frozen=True, forbid_unknown_fields=True):
    """The code of a link to the portal."""

    code: Annotated[str, Meta(min_length=1, max_length=200)]


@give("/v1/portal-links", scope=Scope.admin, status=201)
async def portal_link(request: Request, asked: PortalRequest) -> NewPortalLink:
    """Make a link that opens the portal of a tenant once. It is in this answer and nowhere else."""
    given = structs.asdict(asked)
    tenant = given.pop("tenant") or request.tenant
    made = await request.road.portal.link(tenant, by=request.who, **given)
    request.noted["id"] = made.id
    here = request.context.url
    return structs.replace(made, url=made.url or (f"{here}{made.path}" if here else ""))


@give("/v1/portal-sessions", scope=None, status=201, by_code=True)
async def portal_open(request: Request, asked: PortalCode) -> NewToken:
    """Exchange the code of a link for a token, which does what the link allows until it ends."""
    return await open_portal(request, asked.code, request.road.portal.open)


@fetch("/v1/portal-links", scope=Scope.admin)
async def portal_links(request: Request) -> list[PortalLink]:
    """List the links of the tenant that have not ended; a token of every tenant sees all."""
    asker = request.who
    every = asker.every_tenant and request.headers.get("postroad-tenant") is None
    return await request.road.portal.list(tenant=None if every else asker.tenant)


@drop("/v1/portal-links/{id}", scope=Scope.admin, status=204)
async def portal_revoke(request: Request, id: str) -> None:  # noqa: A002
    """Revoke a link: its page can do nothing more."""
    here, asker = request.context, request.who
    await here.road.portal.revoke(id, tenant=None if asker.every_tenant else asker.tenant)
    here.access.forget()


ROUTES: Final = (portal_link, portal_open, portal_links, portal_revoke)
