"""Tenants: create, list, show, limit and remove them."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from postroad.api.paging import After, Limit
from postroad.api.request import Request
from postroad.api.routing import drop, fetch, give, put
from postroad.model.errors import Forbidden
from postroad.model.privacy import Erasure
from postroad.model.tenant import TenantFacts, TenantPage, TenantView
from postroad.model.texts import ERROR_MAX, NAME_MAX
from postroad.model.tokens import Scope

Most = Annotated[int, Meta(ge=0, le=1 << 61)] | None | UnsetType
Force = Annotated[bool, Meta(description="Also cancel and delete what waits")]
OPERATORS: Final = "tenants are the operator's: your token is for one tenant"


class TenantLimitsRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a tenant's own. What is not named stays, and null takes one away, so that the
    settings' holds."""

    queues_max: Most = UNSET
    lanes_max: Most = UNSET
    messages_max: Most = UNSET
    messages_bytes_max: Most = UNSET
    attachments_bytes_max: Most = UNSET
    mailboxes_max: Most = UNSET
    campaigns_max: Most = UNSET
    imports_max: Most = UNSET
    timetables_max: Most = UNSET


class TenantRequest(TenantLimitsRequest, frozen=True, kw_only=True):
    """A tenant to be created, with limits of its own where they are given."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
    description: Annotated[str, Meta(max_length=ERROR_MAX)] = ""


def _check_operator(request: Request) -> None:
    if not request.who.every_tenant:
        raise Forbidden(OPERATORS)


def _limits(request: Request, asked: TenantLimitsRequest) -> dict[str, int | None]:
    """The limits that are named; the audit log shows them."""
    names = TenantLimitsRequest.__struct_fields__
    given = {name: getattr(asked, name) for name in names}
    given = {name: value for name, value in given.items() if value is not UNSET}
    request.noted |= {name: str(value) for name, value in given.items()}
    return given


@give("/v1/tenants", scope=Scope.admin, status=201)
async def tenant_create(request: Request, asked: TenantRequest) -> TenantFacts:
    """Create a tenant. One that nobody creates is made by its first use. Needs a token of every
    tenant."""
    _check_operator(request)
    limits = _limits(request, asked)
    create = request.road.tenants.create
    return await create(asked.name, description=asked.description, **limits)


@fetch("/v1/tenants", scope=Scope.read)
async def tenant_list(request: Request, limit: Limit = 100, after: After = "") -> TenantPage:
    """List tenants by name, also those that were made by their first use. Needs a token of every
    tenant."""
    _check_operator(request)
    return await request.road.tenants.list(limit=limit, after=after)


@fetch("/v1/tenants/{name}", scope=Scope.read)
async def tenant_show(request: Request, name: str) -> TenantView:
    """Show a tenant's limits and what it has. A token of one tenant shows that one."""
    if name != request.tenant:
        _check_operator(request)
    return await request.road.tenants.show(name)


@put("/v1/tenants/{name}/limits", scope=Scope.admin)
async def tenant_limits(request: Request, name: str, asked: TenantLimitsRequest) -> TenantFacts:
    """Set limits of a tenant's own; those that are not named stay. Needs a token of every
    tenant."""
    _check_operator(request)
    return await request.road.tenants.limits(name, **_limits(request, asked))


@drop("/v1/tenants/{name}", scope=Scope.admin, status=202)
async def tenant_remove(request: Request, name: str, force: Force = False) -> Erasure:
    """Remove a tenant with all that is stored of it. The job is stored when this answers, and goes
    on by itself. Refused while something waits, unless `force` is given. Needs a token of every
    tenant."""
    _check_operator(request)
    made = await request.road.tenants.remove(name, force=force)
    request.noted["erasure"] = str(made.id)
    request.context.access.forget()  # its tokens end
    return made


ROUTES: Final = (tenant_create, tenant_list, tenant_show, tenant_limits, tenant_remove)
