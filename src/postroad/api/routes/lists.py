"""Lists of messages, their bodies, and sending finished ones again."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, structs

from postroad.api.bodies import shown_body
from postroad.api.paging import After, Limit, Moment
from postroad.api.progress import Answered, answer_in_steps
from postroad.api.request import Request
from postroad.api.routing import Header, Query, fetch, give
from postroad.model.listing import ListOrder, MessagePage
from postroad.model.states import State
from postroad.model.texts import ErrorText, Id, Key, QueueName
from postroad.model.tokens import Scope
from postroad.verbs.messages import ListWhere
from postroad.verbs.send_again import SentAgain

Level = Annotated[int, Meta(ge=0, le=1_000)]


class ListQuery(Struct, frozen=True):
    """Selects messages: all that is given must hold."""

    queue: QueueName | None = None
    prefix: QueueName | None = None
    state: State | None = None
    level: Level | None = None
    order_key: Key | None = None
    recipient: QueueName | None = None
    text: ErrorText | None = None
    since: Moment | None = None
    until: Moment | None = None


class SendAgainRequest(ListQuery, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Selects finished messages by ids, or by all the other fields that are given. With a `key`, a
    repeated request sends nothing twice within a day."""

    ids: list[Id] | None = None
    count: Annotated[int, Meta(ge=1, le=1 << 62)] | None = None
    key: Key = ""
    dry_run: bool = False


class MessageBody(Struct, frozen=True):
    """What was sent; a body that is not JSON is in base64."""

    id: str
    headers: dict[str, str]
    body: Any
    body_base64: str | None
    """None for a body that is JSON."""


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
    where = _where(request, which)
    page = await request.road.messages.list(order=order, limit=limit, after=after, **where)
    # A search goes through messages that a portal's link does not see.
    return page if request.who.only is None else structs.replace(page, looked_at=0)


@fetch("/v1/messages/{id}/body", scope=Scope.bodies)
async def message_body(request: Request, id: str) -> MessageBody:  # noqa: A002
    """Show the body and headers of a message: unfinished, dead, or delivered and kept."""
    found = await request.road.messages.body(id, tenant=request.tenant)
    return MessageBody(id, found.headers, *shown_body(found.body))


@give("/v1/messages:send-again", scope=Scope.manage, much=True)
async def send_again(
    request: Request,
    asked: SendAgainRequest,
    idempotency_key: Annotated[Key, Header("Idempotency-Key")] = "",
) -> Answered[SentAgain]:
    """Send finished messages again, as new ones: named ones in one transaction, others in slices. A
    client that accepts NDJSON gets progress lines."""
    steps = request.road.messages.sending_again(
        asked.ids,
        key=asked.key or idempotency_key,
        count=asked.count,
        dry_run=asked.dry_run,
        **_where(request, asked),
    )
    return await answer_in_steps(request, steps, lambda said: said)


class SettleAllRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What became of the uncertain messages of a queue; with `*` at its end it is a prefix."""

    queue: Annotated[QueueName, Meta(min_length=1)]
    outcome: Literal["sent", "unsent"]


class SettledMessages(Struct, frozen=True):
    """How many messages were settled."""

    settled: int


@give("/v1/messages:settle", scope=Scope.manage)
async def settle_all(request: Request, asked: SettleAllRequest) -> SettledMessages:
    """Settle all uncertain messages of a queue: they were sent, or are to be tried again."""
    settle = request.road.messages.settle
    return SettledMessages(await settle(asked.outcome, queue=asked.queue, tenant=request.tenant))


def _where(request: Request, asked: ListQuery) -> ListWhere:
    where = ListWhere(queue=asked.queue, prefix=asked.prefix, state=asked.state, level=asked.level)
    where |= ListWhere(order_key=asked.order_key, text=asked.text, recipient=asked.recipient)
    return where | ListWhere(since=asked.since, until=asked.until, tenant=request.tenant)


ROUTES: Final = (message_list, message_body, send_again, settle_all)
