"""Named limits: put, list and delete those that many lanes share."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.everywhere import Everywhere, whose
from postroad.api.request import Request
from postroad.api.routes.queues import Cost
from postroad.api.routing import drop, fetch, give
from postroad.model.named_limits import NamedLimit
from postroad.model.texts import NAME_MAX, Id, Lanes, Rate
from postroad.model.tokens import EVERY_TENANT, Scope


class LimitRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A limit for all lanes that the pattern `lanes` means, as `smtp:*.google.com`: a rate, hours
    as `09:00-20:00`, or both."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
    lanes: Lanes
    rate: Rate = ""
    cost: Cost = 1
    hours: Id = ""
    zone: Id = ""
    everywhere: Everywhere = False


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
        tenant=whose(request, everywhere=asked.everywhere),
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
async def limit_delete(request: Request, name: str, everywhere: Everywhere = False) -> None:
    """Lift a named limit."""
    tenant = whose(request, everywhere=everywhere)
    await request.road.limits.delete(name, tenant=tenant)


ROUTES: Final = (limit_put, limit_list, limit_delete)
