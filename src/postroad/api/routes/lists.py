"""Lists of messages, their bodies, and sending finished ones again."""

from datetime import datetime
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, structs

from postroad.api.bodies import shown_body
from postroad.api.paging import After, Limit
from postroad.api.progress import Answered, answer_in_steps
from postroad.api.request import Request
from postroad.api.routing import Header, Query, fetch, give
from postroad.model.listing import ListOrder, MessagePage
from postroad.model.states import State
from postroad.model.texts import ERROR_MAX, KEY_MAX, QUEUE_MAX, ErrorText, Id, Key, QueueName
from postroad.model.tokens import Scope
from postroad.verbs.messages import ListWhere
from postroad.verbs.send_again import SentAgain

Moment = Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})]
Name = Annotated[str, Meta(max_length=QUEUE_MAX)]
Level = Annotated[int, Meta(ge=0, le=1_000)]
Text = Annotated[str, Meta(max_length=ERROR_MAX)]
OrderKey = Annotated[str, Meta(max_length=KEY_MAX)]


class SendAgainRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Selects finished messages by ids, or by all the other fields that are given. With a `key`, a
    repeated request sends nothing twice within a day."""

    ids: list[Id] | None = None
    queue: QueueName | None = None
    prefix: QueueName | None = None
    state: State | None = None
    level: Level | None = None
    order_key: Key | None = None
    text: ErrorText | None = None
    since: datetime | None = None
    until: datetime | None = None
    count: Annotated[int, Meta(ge=1, le=1 << 62)] | None = None
    key: Key = ""
    dry_run: bool = False


class MessageBody(Struct, frozen=True):
    """What was sent; a body that is not JSON is in base64."""

    id: str
    headers: dict[str, str]
    body: Any
    body_base64: str


class ListQuery(Struct, frozen=True):
    """Selects messages: all that is given must hold."""

    queue: Name | None = None
    prefix: Name | None = None
    state: State | None = None
    level: Level | None = None
    order_key: OrderKey | None = None
    text: Text | None = None
    since: Moment | None = None
    until: Moment | None = None


@fetch("/v1/messages", scope=Scope.read)
async def message_list(
    request: Request,
    which: Annotated[ListQuery, Query()],
    order: ListOrder = ListOrder.newest,
    limit: Limit = 100,
    after: After = "",
) -> MessagePage:
    """List messages in order of acceptance: by queue (a `*` at its end makes it a prefix), state,
    retry level, order key, acceptance time, or text in the last error."""
    where = ListWhere(**structs.asdict(which), tenant=request.tenant)  # type: ignore[typeddict-item]
    return await request.road.messages.list(order=order, limit=limit, after=after, **where)


@fetch("/v1/messages/{id}/body", scope=Scope.bodies)
async def message_body(request: Request, id: str) -> MessageBody:  # noqa: A002
    """Show the body and headers of a message: unfinished, dead, or delivered and kept."""
    found = await request.road.messages.body(id, tenant=request.tenant)
    return MessageBody(id, found.headers, *shown_body(found.body))


@give("/v1/messages:send-again", scope=Scope.manage, much=True)
async def send_again(
    request: Request,
    asked: SendAgainRequest,
    idempotency_key: Annotated[str, Meta(max_length=KEY_MAX), Header("Idempotency-Key")] = "",
) -> Answered[SentAgain]:
    """Send finished messages again, as new ones: named ones in one transaction, others in slices. A
    client that accepts NDJSON gets progress lines."""
    where = ListWhere(queue=asked.queue, prefix=asked.prefix, state=asked.state, level=asked.level)
    where |= ListWhere(order_key=asked.order_key, text=asked.text, since=asked.since)
    where |= ListWhere(until=asked.until, tenant=request.tenant)
    steps = request.road.messages.sending_again(
        asked.ids,
        key=asked.key or idempotency_key,
        count=asked.count,
        dry_run=asked.dry_run,
        **where,
    )
    return await answer_in_steps(request, steps, lambda said: said)


ROUTES: Final = (message_list, message_body, send_again)
