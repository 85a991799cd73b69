"""Webhooks: how they are called, and the result of each try. Secrets go in and never out."""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from postroad.api.bodies import HIDDEN, sees_bodies
from postroad.api.paging import After, Limit
from postroad.api.request import Request
from postroad.api.routing import drop, fetch, put
from postroad.model.access import Auth, ClientTls
from postroad.model.ladder import Ladder
from postroad.model.texts import QUEUE_MAX, Headers, Key, QueueName, SecretText
from postroad.model.tokens import Scope
from postroad.model.webhook import Attempt, AttemptFacts, HeaderNames, Shape
from postroad.verbs.webhooks import HookFacts, HookPage

Address = Annotated[str, Meta(min_length=1, max_length=QUEUE_MAX, description="The webhook's URL")]
OneAddress = (
    Annotated[
        str,
        Meta(min_length=1, max_length=QUEUE_MAX, description="One webhook's URL; without it, all"),
    ]
    | None
)


class CallSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How a webhook or an endpoint is called; what is not named stays as it is. Times in
    seconds."""

    headers: Headers | UnsetType = UNSET
    reject: tuple[int, ...] | UnsetType = UNSET
    connect_timeout: float | UnsetType = UNSET
    timeout: float | UnsetType = UNSET
    names: HeaderNames | UnsetType = UNSET
    ladder: Ladder | UnsetType = UNSET
    keep_bodies: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    auth: Auth | UnsetType | None = UNSET
    tls: ClientTls | UnsetType | None = UNSET
    shape: Shape | UnsetType = UNSET
    transform: Key | UnsetType = UNSET


class WebhookRequest(CallSettings, frozen=True, kw_only=True):
    """What is to change about a webhook; what is not named stays as it is. Times in seconds."""

    url: QueueName
    secrets: tuple[SecretText, ...] | UnsetType = UNSET


class AttemptView(AttemptFacts, frozen=True):
    """One try: what was sent, where to, and what came back."""

    headers: dict[str, str]
    answer: str
    """The beginning of it, as far as it is text."""
    hidden: str = ""
    """Why headers and answer are not shown."""


@put("/v1/webhooks", scope=Scope.manage)
async def webhook_set(request: Request, asked: WebhookRequest) -> HookFacts:
    """Set how a webhook is called, and make its queue when it is new."""
    options: dict[str, Any] = structs.asdict(asked)
    url = options.pop("url")
    given = {name: value for name, value in options.items() if value is not UNSET}
    webhooks, tenant = request.road.webhooks, request.tenant
    await webhooks.set(url, tenant=tenant, **given)
    return await webhooks.get(url, tenant=tenant)


@fetch("/v1/webhooks", scope=Scope.read)
async def webhook_list(
    request: Request, url: OneAddress = None, limit: Limit = 100, after: After = ""
) -> HookFacts | HookPage:
    """Show what is set for a webhook, or list all webhooks that something is set for. Secrets are
    counted, not shown."""
    webhooks, tenant = request.road.webhooks, request.tenant
    if url is not None:
        return await webhooks.get(url, tenant=tenant)
    return await webhooks.list(limit=limit, after=after, tenant=tenant)


@drop("/v1/webhooks", scope=Scope.manage, status=204)
async def webhook_delete(request: Request, url: Address) -> None:
    """Delete what is set for a webhook. Its queue stays: what waits is sent without it."""
    await request.road.webhooks.delete(url, tenant=request.tenant)


@fetch("/v1/messages/{id}/attempts", scope=Scope.read)
async def attempts(request: Request, id: str) -> list[AttemptView]:  # noqa: A002
    """List every try of a webhook's message, from the log, without secrets. What was sent and
    answered is shown to tokens with the scope `bodies`."""
    road, tenant = request.road, request.tenant
    found = await road.webhooks.attempts(id, tenant=tenant)
    if not found:
        _ = await road.explain(id, tenant=tenant)  # whether there is such a message
    return [_view(one, whole=sees_bodies(request)) for one in found]


def _view(one: Attempt, *, whole: bool) -> AttemptView:
    told: dict[str, Any] = structs.asdict(one)
    del told["request"]
    if not whole:
        return AttemptView(**told | {"answer": ""}, headers={}, hidden=HIDDEN)
    told["answer"] = one.answer.decode(errors="replace")
    return AttemptView(**told, headers=one.headers)


ROUTES: Final = (webhook_set, webhook_list, webhook_delete, attempts)
