"""Messages: send one, send many, ask, cancel."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from postroad.api.bodies import from_base64
from postroad.api.problems import BadRequest
from postroad.api.progress import Answered, answer_in_steps
from postroad.api.request import Request, Response
from postroad.api.routing import Header, drop, fetch, give
from postroad.engine.drafting import Send
from postroad.model.control import Cancelled, CancelledAll, CancelState
from postroad.model.errors import NotCancelled, UnknownMessage
from postroad.model.explain import Explanation, MessageView
from postroad.model.problem import FieldError
from postroad.model.texts import GivenKey, Headers, Id, Key, Name, QueueName
from postroad.model.tokens import Scope
from postroad.verbs.receipts import Receipt

WAIT_S: Final = 10.0


class SendRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A message to be sent: `body` is any JSON; `body_base64` is for other bytes. A text message or
    a mail has its `credential`. With `check` the message is refused if its server has no address
    now. Allowed hours go by its recipient's `zone`. With `replace` it takes the place of an
    earlier one of that key, for `at_most` so long; with `unique_for` it is sent once in so long."""

    queue: Annotated[QueueName, Meta(min_length=1)]
    body: Raw | UnsetType = UNSET
    body_base64: str | None = None
    key: GivenKey | None = None
    order_key: GivenKey | None = None
    deliver_at: datetime | None = None
    delay: Annotated[float, Meta(ge=0)] = 0.0
    expires_at: datetime | None = None
    priority: Annotated[int, Meta(ge=-9, le=9)] = 0
    headers: Headers = {}
    credential: Name = ""
    check: bool = False
    zone: Id = ""
    replace: GivenKey | None = None
    at_most: Annotated[float, Meta(ge=0)] = 0.0
    unique_for: Annotated[float, Meta(ge=0)] = 0.0


class CancelRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which messages: of a queue, of an order key, or of both."""

    queue: QueueName = ""
    order_key: Key = ""
    wait_s: Annotated[float, Meta(ge=0, le=40)] = WAIT_S
    """How long to wait for those that may be sent at this moment."""


class SettleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What became of an uncertain message."""

    outcome: Literal["sent", "unsent"]


SEND: Final = msgspec.json.Decoder(SendRequest)


def to_send(asked: SendRequest, tenant: str, key: str | None = None) -> Send:
    """What the road is asked for. `key` is the header's."""
    if key and asked.key and key != asked.key:
        raise _bad("key", "it differs from the header Idempotency-Key: give one of them")
    return Send(
        asked.queue,
        _body(asked),
        key=key or asked.key,
        order_key=asked.order_key,
        deliver_at=asked.deliver_at,
        delay=asked.delay,
        expires_at=asked.expires_at,
        priority=asked.priority,
        headers=asked.headers,
        tenant=tenant,
        credential=asked.credential,
        check=asked.check,
        zone=asked.zone,
        replace=asked.replace,
        at_most=asked.at_most,
        unique_for=asked.unique_for,
    )


def _body(asked: SendRequest) -> Raw | bytes:
    if (asked.body is not UNSET) == (asked.body_base64 is not None):
        raise _bad("body", "give body (any JSON) or body_base64 (bytes), one of them")
    return from_base64(asked.body_base64 or "") if asked.body is UNSET else asked.body


def _bad(field: str, text: str) -> BadRequest:
    return BadRequest(f"{field}: {text}", (FieldError(field, text),))


@give("/v1/messages", scope=Scope.send, much=True, status=201, also=(200,), audited=False)
async def send(
    request: Request,
    asked: SendRequest,
    idempotency_key: Annotated[GivenKey | None, Header("Idempotency-Key")] = None,
) -> Response[Receipt]:
    """Send a message; it is stored when this answers. 200: it was, under the same key."""
    here, tenant = request.context, request.tenant
    work = here.road.send_many([to_send(asked, tenant, idempotency_key)])
    (receipt,) = await here.admission.store(tenant, 1, work)
    here.meter.accepted(int(not receipt.duplicate))
    headers = {"location": f"/v1/messages/{receipt.id}"}
    told = Receipt(receipt.id, receipt.queue, receipt.duplicate, receipt.earlier)
    return Response(told, status=200 if receipt.duplicate else 201, headers=headers)


@fetch("/v1/messages/{id}", scope=Scope.read)
async def show(request: Request, id: str) -> MessageView:  # noqa: A002 - the word that receipts use
    """Show where a message is, and what was tried."""
    said = await request.road.explain(id, tenant=request.tenant)
    return view(said)


def view(said: Explanation) -> MessageView:
    """An explanation without its words."""
    shown: dict[str, Any] = {name: getattr(said, name) for name in MessageView.__struct_fields__}
    return MessageView(**shown)


@fetch("/v1/messages/{id}/explain", scope=Scope.read)
async def explain(request: Request, id: str) -> Explanation:  # noqa: A002
    """Explain a message: what happened, what holds it back, what comes next."""
    return await request.road.explain(id, tenant=request.tenant)


@drop("/v1/messages/{id}", scope=Scope.manage)
async def cancel(
    request: Request,
    id: str,  # noqa: A002
    wait_s: Annotated[float, Meta(ge=0, le=40)] = WAIT_S,
    *,
    running: bool = False,
) -> Cancelled:
    """Cancel a message: after `cancelled` no try of it starts. With `running` a job that runs is
    stopped."""
    road, tenant = request.road, request.tenant
    answer = await road.cancel(id, running=running, tenant=tenant, wait=wait_s)
    if answer.state is CancelState.unknown:
        raise UnknownMessage(f"this road knows no message {id} of tenant {tenant!r}")
    if answer.state is CancelState.final:
        raise NotCancelled(f"{id} is finished already: see `postroad message show {id}`")
    return answer


@give("/v1/messages:cancel", scope=Scope.manage)
async def cancel_all(request: Request, asked: CancelRequest) -> Answered[CancelledAll]:
    """Cancel the unfinished messages of a queue, or of an order key, that are stored now, and count
    them by what became of them. A client that accepts NDJSON gets progress lines."""
    if not asked.queue and not asked.order_key:
        raise _bad("queue", "say which: a queue, an order_key, or both")
    steps = request.road.cancelling(
        asked.queue, order_key=asked.order_key, tenant=request.tenant, wait=asked.wait_s
    )
    return await answer_in_steps(request, steps, lambda said: said)


@give("/v1/messages/{id}/settle", scope=Scope.manage)
async def settle(request: Request, asked: SettleRequest, id: str) -> MessageView:  # noqa: A002
    """Settle an uncertain message: `sent` makes it delivered, `unsent` has it tried again."""
    road, tenant = request.road, request.tenant
    await road.settle(id, asked.outcome, tenant=tenant)
    return view(await road.explain(id, tenant=tenant))


ROUTES: Final = (send, show, explain, cancel, cancel_all, settle)
