"""Endpoints: the places that events are sent to. A secret is shown once, when it is made."""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from postroad.api.paging import After, Limit
from postroad.api.request import Request, Response
from postroad.api.routes.webhooks import CallSettings
from postroad.api.routing import change, drop, fetch, give
from postroad.model.access import Auth, ClientTls
from postroad.model.errors import Forbidden
from postroad.model.ladder import Ladder
from postroad.model.texts import ErrorText, Headers, Key, Name, QueueName, Rate, SecretText
from postroad.model.tokens import Scope
from postroad.model.webhook import HeaderNames, Shape
from postroad.verbs.endpoint_facts import EndpointFacts, EndpointPage, NewEndpoint
from postroad.verbs.endpoint_life import check_enabling

Types = Annotated[tuple[Name, ...], Meta(max_length=100)]
Expiry = Annotated[float, Meta(ge=0, le=31_622_400)]
Metadata = Annotated[dict[Name, Key], Meta(max_length=50)]


class EndpointChange(CallSettings, frozen=True):
    """What is to change about an endpoint; what is not named stays as it is. Times in seconds."""

    url: QueueName | UnsetType = UNSET
    types: Types | UnsetType = UNSET
    channels: Types | UnsetType = UNSET
    filter: dict[QueueName, Any] | UnsetType | None = UNSET
    description: ErrorText | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET
    rate: Rate | UnsetType = UNSET
    expires_in: Expiry | UnsetType = UNSET
    state: Literal["enabled", "disabled"] | UnsetType = UNSET
    reason: Name | UnsetType = UNSET
    by: Literal["owner", "operator"] = "owner"
    """Who enables or disables it; an operator's token is one for all tenants."""


class EndpointRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An endpoint to be made, at a `url`, or with `pull` to be read. Without `secret` one is made;
    times in seconds."""

    url: QueueName = ""
    pull: bool = False
    types: Types = ()
    channels: Types = ()
    filter: dict[QueueName, Any] | None = None
    description: ErrorText = ""
    metadata: Metadata = {}
    headers: Headers = {}
    reject: tuple[int, ...] = ()
    connect_timeout: float | UnsetType = UNSET
    timeout: float | UnsetType = UNSET
    names: HeaderNames = HeaderNames()
    ladder: Ladder | UnsetType = UNSET
    rate: Rate = ""
    keep_bodies: Annotated[float, Meta(ge=0)] = 0
    auth: Auth | UnsetType | None = UNSET
    tls: ClientTls | UnsetType | None = UNSET
    shape: Shape | UnsetType = UNSET
    transform: Key | UnsetType = UNSET
    expires_in: Expiry = 0
    ordered: bool = False
    secret: SecretText = ""


class RotateRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """For how many seconds the secret before signs too."""

    overlap: Annotated[float, Meta(ge=0, le=7_776_000)] = 86_400.0


def _given(asked: Struct) -> dict[str, Any]:
    return {name: each for name, each in structs.asdict(asked).items() if each is not UNSET}


@give("/v1/endpoints", scope=Scope.manage, status=201)
async def endpoint_create(request: Request, asked: EndpointRequest) -> Response[NewEndpoint]:
    """Make an endpoint. The answer has its secret, this once."""
    options = _given(asked)
    made = await request.road.endpoints.create(options.pop("url"), tenant=request.tenant, **options)
    return Response(made, status=201, headers={"location": f"/v1/endpoints/{made.id}"})


@fetch("/v1/endpoints", scope=Scope.read)
async def endpoint_list(request: Request, limit: Limit = 100, after: After = "") -> EndpointPage:
    """List the endpoints. Secrets are counted, not shown."""
    return await request.road.endpoints.list(limit=limit, after=after, tenant=request.tenant)


@fetch("/v1/endpoints/{id}", scope=Scope.read)
async def endpoint_show(request: Request, id: str) -> EndpointFacts:  # noqa: A002
    """Show an endpoint. Secrets are counted, not shown."""
    return await request.road.endpoints.get(id, tenant=request.tenant)


@change("/v1/endpoints/{id}", scope=Scope.manage)
async def endpoint_change(request: Request, id: str, asked: EndpointChange) -> EndpointFacts:  # noqa: A002
    """Change an endpoint. What waits stays, and goes to the new URL."""
    endpoints, tenant, options = request.road.endpoints, request.tenant, _given(asked)
    state, reason, by = (options.pop(name, "") for name in ("state", "reason", "by"))
    if by == "operator" and not request.who.every_tenant:
        raise Forbidden("by: your token is for one tenant, and an operator's is for all")
    if state == "enabled":
        check_enabling(id, (await endpoints.get(id, tenant=tenant)).disabled_by, by)
    if options or not state:
        _ = await endpoints.change(id, tenant=tenant, **options)  # shown below
    # The state last: if the change is refused, nothing is done; what was held goes to the new URL.
    if state == "disabled":
        _ = await endpoints.disable(id, reason=reason, by=by, tenant=tenant)  # shown below
    if state == "enabled":
        _ = await endpoints.enable(id, by=by, tenant=tenant)  # shown below
    return await endpoints.get(id, tenant=tenant)


@give("/v1/endpoints/{id}/rotate", scope=Scope.manage)
async def endpoint_rotate(request: Request, id: str, asked: RotateRequest) -> NewEndpoint:  # noqa: A002
    """Give an endpoint a new secret, shown this once. The one before signs too for a while."""
    endpoints = request.road.endpoints
    return await endpoints.rotate(id, overlap=asked.overlap, tenant=request.tenant)


@drop("/v1/endpoints/{id}", scope=Scope.manage, status=204)
async def endpoint_delete(request: Request, id: str) -> None:  # noqa: A002
    """Delete an endpoint. What waits for it is cancelled."""
    await request.road.endpoints.delete(id, tenant=request.tenant)


ROUTES: Final = (
    endpoint_create,
    endpoint_list,
    endpoint_show,
    endpoint_change,
    endpoint_rotate,
    endpoint_delete,
)
