"""Named limits: put, list and delete those that many lanes share."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.request import Request
from postroad.api.routes.queues import Cost
from postroad.api.routing import drop, fetch, give
from postroad.model.errors import Forbidden
from postroad.model.named_limits import NamedLimit
from postroad.model.texts import NAME_MAX, Id, Lanes, Rate
from postroad.model.tokens import EVERY_TENANT, Scope

EveryTenant = Annotated[bool, Meta(description="For the lanes of every tenant")]


class LimitRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A limit for all lanes that the pattern `lanes` means, as `smtp:*.google.com`: a rate, hours
    as `09:00-20:00`, or both."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
    lanes: Lanes
    rate: Rate = ""
    cost: Cost = 1
    hours: Id = ""
    zone: Id = ""
    every_tenant: EveryTenant = False


@give("/v1/limits", scope=Scope.manage, status=201)
async def limit_put(request: Request, asked: LimitRequest) -> NamedLimit:
    """Set a named limit; it replaces one of the same name. One for the lanes of every tenant needs
    a token of every tenant."""
    return await request.road.limits.put(
        asked.name,
        lanes=asked.lanes,
        rate=asked.rate,
        cost=asked.cost,
        hours=asked.hours,
        zone=asked.zone,
        tenant=owner_of(request, every_tenant=asked.every_tenant),
    )


@fetch("/v1/limits", scope=Scope.read)
async def limit_list(request: Request) -> list[NamedLimit]:
    """List the named limits of the tenant; with a token of every tenant also those for all."""
    own = await request.road.limits.list(tenant=request.tenant)
    return own + await of_every_tenant(request)


async def of_every_tenant(request: Request) -> list[NamedLimit]:
    """The limits for the lanes of every tenant, for those who may see them."""
    shown = request.who.every_tenant
    return await request.road.limits.list(tenant=EVERY_TENANT) if shown else []


@drop("/v1/limits/{name}", scope=Scope.manage, status=204)
async def limit_delete(request: Request, name: str, every_tenant: EveryTenant = False) -> None:
    """Lift a named limit."""
    tenant = owner_of(request, every_tenant=every_tenant)
    await request.road.limits.delete(name, tenant=tenant)


def owner_of(request: Request, *, every_tenant: bool) -> str:
    """Return whose a limit or rule is: the caller's tenant's, or everybody's if it may say so."""
    if not every_tenant:
        return request.tenant
    if not request.who.every_tenant:
        raise Forbidden("this token is for one tenant: one for all needs a token of every tenant")
    return EVERY_TENANT


ROUTES: Final = (limit_put, limit_list, limit_delete)
