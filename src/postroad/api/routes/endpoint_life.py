"""The life of endpoints: statistics, what died and is sent again, and the rules for it."""

from datetime import datetime
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from postroad.api.everywhere import Everywhere, whose
from postroad.api.paging import Moment
from postroad.api.request import Request, Response
from postroad.api.routing import fetch, give, put
from postroad.model.endpoint_life import EndpointRules
from postroad.model.errors import Forbidden
from postroad.model.texts import Name, Rate
from postroad.model.tokens import Scope
from postroad.verbs.endpoint_stats import EndpointStats, Recovery
from postroad.verbs.endpoint_tests import SentTest

Seconds = Annotated[float, Meta(ge=0, le=31_622_400)]
OPERATORS: Final = "rules of endpoints are the operator's: your token is for one tenant"


class RecoverRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Since when what died is sent again: else since the failures began for which the endpoint was
    last disabled. With `dry_run` it is only counted."""

    since: datetime | None = None
    dry_run: bool = False


class TestEventRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The type of a test event; without one the first that the endpoint gets."""

    type: Name = ""


class RulesRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to change about the rules of a tenant's endpoints, or with `everywhere` of all that
    have none of their own; what is not named stays. Times in seconds."""

    notice_after_s: Seconds | UnsetType = UNSET
    disable_after_s: Seconds | UnsetType = UNSET
    hold_for_s: Seconds | UnsetType = UNSET
    hold_max: Annotated[int, Meta(ge=0, le=1 << 40)] | UnsetType = UNSET
    dead_every_s: Seconds | UnsetType = UNSET
    drain: Rate | UnsetType = UNSET
    everywhere: Everywhere = False


@fetch("/v1/endpoints/{id}/stats", scope=Scope.read)
async def endpoint_stats(
    request: Request,
    id: str,  # noqa: A002
    by: Literal["hour", "day"] = "hour",
    since: Moment | None = None,
    until: Moment | None = None,
) -> EndpointStats:
    """Show what an endpoint answered by hour or day, of the last day unless a time is given, and
    what waits for it."""
    verb = request.road.endpoints.stats
    return await verb(id, by=by, since=since, until=until, tenant=request.tenant)


@give("/v1/endpoints/{id}/recover", scope=Scope.manage)
async def endpoint_recover(request: Request, id: str, asked: RecoverRequest) -> Recovery:  # noqa: A002
    """Send again what died while an endpoint failed."""
    verb = request.road.endpoints.recover
    return await verb(id, since=asked.since, dry_run=asked.dry_run, tenant=request.tenant)


@give("/v1/endpoints/{id}/test", scope=Scope.manage, status=201)
async def endpoint_test(request: Request, id: str, asked: TestEventRequest) -> Response[SentTest]:  # noqa: A002
    """Send a test event to an endpoint alone."""
    sent = await request.road.endpoints.test(id, asked.type, tenant=request.tenant)
    return Response(sent, status=201)


@fetch("/v1/endpoint-rules", scope=Scope.read)
async def endpoint_rules_show(request: Request) -> EndpointRules:
    """Show when endpoints of a tenant are disabled, how much is held, and how fast it drains."""
    return await request.road.endpoints.rules(tenant=request.tenant)


@put("/v1/endpoint-rules", scope=Scope.manage)
async def endpoint_rules_set(request: Request, asked: RulesRequest) -> EndpointRules:
    """Set the rules of a tenant's endpoints, or of all. A token for one tenant is refused."""
    if not request.who.every_tenant:
        raise Forbidden(OPERATORS)
    given = {name: each for name, each in structs.asdict(asked).items() if each is not UNSET}
    tenant = whose(request, everywhere=given.pop("everywhere"))
    return await request.road.endpoints.set_rules(tenant=tenant, **given)


ROUTES: Final = (
    endpoint_stats,
    endpoint_recover,
    endpoint_test,
    endpoint_rules_show,
    endpoint_rules_set,
)
