"""Events and their types: publish, list, show; set types, import and export them."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw, Struct

from postroad.api.bodies import HIDDEN, sees_bodies, shown_body
from postroad.api.paging import After, Limit
from postroad.api.problems import BadRequest
from postroad.api.request import Request, Response
from postroad.api.routing import Header, fetch, give
from postroad.model.errors import Forbidden
from postroad.model.event_types import EventType
from postroad.model.problem import FieldError
from postroad.model.texts import GivenKey, Name
from postroad.model.tokens import Scope
from postroad.verbs.event_types import EventTypeList
from postroad.verbs.events import EventFacts, EventPage, EventReceipt, Unmatched

Channels = Annotated[tuple[Name, ...], Meta(max_length=100)]
Archived = Annotated[bool, Meta(description="Whether those that are archived are listed too")]
OURS: Final = "event types are the same for every tenant: your token is for one"


class PublishRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An event to be published: `body` is any JSON."""

    type: Name
    body: Raw
    key: GivenKey | None = None
    channels: Channels = ()


class EventView(EventFacts, frozen=True):
    """An event with its body, as far as the token may see it."""

    body: Raw
    hidden: str = ""
    """Why the body is not shown."""


class EventTypeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An event type; it replaces one of the same name. With `warn` a body that does not fit the
    schema is published all the same."""

    name: Name
    description: Annotated[str, Meta(max_length=2_000)] = ""
    schema: dict[Name, Any] | None = None
    warn: bool = False
    archived: bool = False


class OpenApiRequest(Struct, frozen=True):
    """An OpenAPI 3.1 document, of which `webhooks` and shared schemas are read."""

    webhooks: dict[Name, Any]
    components: dict[Name, Any] = {}


@give("/v1/events", scope=Scope.send, much=True, status=201, also=(200,), audited=False)
async def event_publish(
    request: Request,
    asked: PublishRequest,
    idempotency_key: Annotated[GivenKey | None, Header("Idempotency-Key")] = None,
) -> Response[EventReceipt]:
    """Publish an event: it is stored when this answers, with a message for each endpoint that
    matches. 200: it was, under the same key."""
    if idempotency_key and asked.key and idempotency_key != asked.key:
        text = "it differs from the header Idempotency-Key: give one of them"
        raise BadRequest(f"key: {text}", (FieldError("key", text),))
    here, tenant = request.context, request.tenant
    work = here.road.publish(
        asked.type,
        asked.body,
        tenant=tenant,
        key=idempotency_key or asked.key,
        channels=asked.channels,
    )
    receipt = await here.admission.store(tenant, 1, work)
    if not receipt.duplicate:
        here.meter.accepted(len(receipt.messages))
        here.meter.published(len(receipt.messages))
    headers = {"location": f"/v1/events/{receipt.id}"}
    return Response(receipt, status=200 if receipt.duplicate else 201, headers=headers)


@fetch("/v1/events", scope=Scope.read)
async def event_list(request: Request, limit: Limit = 100, after: After = "") -> EventPage:
    """List events without their bodies, the newest first."""
    return await request.road.events.list(limit=limit, after=after, tenant=request.tenant)


@fetch("/v1/events:unmatched", scope=Scope.read)
async def event_unmatched(request: Request) -> Unmatched:
    """Count the kept events that no endpoint matched, by type."""
    return await request.road.events.unmatched(tenant=request.tenant)


@fetch("/v1/events/{id}", scope=Scope.read)
async def event_show(request: Request, id: str) -> EventView:  # noqa: A002
    """Show an event and the ids of its messages. Its body is shown to tokens with the scope
    `bodies`."""
    found = await request.road.events.get(id, tenant=request.tenant)
    facts = {name: getattr(found, name) for name in EventFacts.__struct_fields__}
    if not sees_bodies(request):
        return EventView(**facts, body=Raw(b"null"), hidden=HIDDEN)
    return EventView(**facts, body=shown_body(found.body)[0])


@give("/v1/event-types", scope=Scope.manage, status=201)
async def event_type_set(request: Request, asked: EventTypeRequest) -> EventType:
    """Set an event type. Types are the same for every tenant."""
    _check_operator(request)
    given = {name: getattr(asked, name) for name in asked.__struct_fields__}
    return await request.road.event_types.set(given.pop("name"), **given)


@fetch("/v1/event-types", scope=Scope.read)
async def event_type_list(request: Request, archived: Archived = False) -> EventTypeList:
    """List the event types; those that are archived only if they are asked for."""
    return await request.road.event_types.list(archived=archived)


@fetch("/v1/event-types/{name}", scope=Scope.read)
async def event_type_show(request: Request, name: Name) -> EventType:
    """Show an event type."""
    return await request.road.event_types.get(name)


@give("/v1/event-types:import", scope=Scope.manage)
async def event_type_import(request: Request, asked: OpenApiRequest) -> EventTypeList:
    """Set the event types that an OpenAPI document describes as webhooks; all or none."""
    _check_operator(request)
    return await request.road.event_types.import_openapi(msgspec.to_builtins(asked))


@fetch("/v1/event-types:export", scope=Scope.read)
async def event_type_export(request: Request) -> dict[str, Any]:
    """Describe the event types as webhooks of an OpenAPI document."""
    return await request.road.event_types.export_openapi()


def _check_operator(request: Request) -> None:
    if not request.who.every_tenant:
        raise Forbidden(OURS)


ROUTES: Final = (
    event_publish,
    event_list,
    event_unmatched,
    event_show,
    event_type_set,
    event_type_list,
    event_type_show,
    event_type_import,
    event_type_export,
)
