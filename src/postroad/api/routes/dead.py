"""The dead set: list, show, replay, purge."""

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from postroad.api.bodies import HIDDEN, sees_bodies, shown_body
from postroad.api.paging import After, Moment
from postroad.api.progress import Answered, answer_in_steps
from postroad.api.request import Request
from postroad.api.routing import Query, fetch, give
from postroad.model.dead import DeadMessage, Page, ReplayMode
from postroad.model.states import DeadReason
from postroad.model.texts import ErrorText, Id, QueueName
from postroad.model.tokens import Scope
from postroad.model.tries import Try
from postroad.verbs.dead import PAGE_MAX, DeadWhere

Limit = Annotated[int, Meta(ge=1, le=PAGE_MAX)]
Count = Annotated[int, Meta(ge=1, le=1 << 62)]


class DeadQuery(Struct, frozen=True):
    """Selects dead messages: all that is given must hold."""

    queue: QueueName | None = None
    reason: DeadReason | None = None
    error: ErrorText | None = None
    since: Moment | None = None
    until: Moment | None = None


class Which(DeadQuery, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Selects dead messages by ids, or by all the other fields that are given."""

    ids: list[Id] | None = None
    count: Count | None = None
    dry_run: bool = False


class ReplayRequest(Which, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which dead messages are sent again, and how: `once` more, or `reset` to level 0."""

    mode: ReplayMode = ReplayMode.once


class PurgeRequest(Which, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which dead messages are deleted for good."""


class Counted(Struct, frozen=True):
    """How many messages were changed, or, with `dry_run`, would be."""

    count: int
    dry_run: bool


class DeadLetterView(Struct, frozen=True):
    """A dead message with all that was sent and tried; a body that is not JSON is in base64."""

    message: DeadMessage
    headers: dict[str, str]
    body: Any
    body_base64: str | None
    """None for a body that is JSON."""
    tries: tuple[Try, ...]
    hidden: str = ""
    """Why body and headers are not shown."""


@fetch("/v1/dead", scope=Scope.read)
async def dead_list(
    request: Request,
    which: Annotated[DeadQuery, Query()],
    limit: Limit = 100,
    after: After = "",
) -> Page:
    """List dead messages, the latest death first."""
    return await request.road.dead.list(limit=limit, after=after, **_where(request, which))


@fetch("/v1/dead/{id}", scope=Scope.read)
async def dead_show(request: Request, id: str) -> DeadLetterView:  # noqa: A002
    """Show a dead message with its body, headers and all tries; body and headers to tokens with
    the scope `bodies`."""
    letter = await request.road.dead.show(id, tenant=request.tenant)
    if not sees_bodies(request):
        return DeadLetterView(letter.message, {}, None, None, letter.tries, HIDDEN)
    return DeadLetterView(letter.message, letter.headers, *shown_body(letter.body), letter.tries)


@give("/v1/dead:replay", scope=Scope.manage, much=True)
async def dead_replay(request: Request, asked: ReplayRequest) -> Answered[Counted]:
    """Send dead messages again: named ones in one transaction, others in slices. A client that
    accepts NDJSON gets progress lines."""
    steps = request.road.dead.replaying(
        ids=asked.ids,
        count=asked.count,
        mode=asked.mode,
        dry_run=asked.dry_run,
        **_where(request, asked),
    )
    return await answer_in_steps(request, steps, lambda count: Counted(count, asked.dry_run))


@give("/v1/dead:purge", scope=Scope.manage, much=True)
async def dead_purge(request: Request, asked: PurgeRequest) -> Answered[Counted]:
    """Delete dead messages for good: named ones in one transaction, others in slices. A client
    that accepts NDJSON gets progress lines."""
    steps = request.road.dead.purging(
        ids=asked.ids, count=asked.count, dry_run=asked.dry_run, **_where(request, asked)
    )
    return await answer_in_steps(request, steps, lambda count: Counted(count, asked.dry_run))


def _where(request: Request, asked: DeadQuery) -> DeadWhere:
    where = DeadWhere(queue=asked.queue, reason=asked.reason, error=asked.error)
    return where | DeadWhere(since=asked.since, until=asked.until, tenant=request.tenant)


ROUTES: Final = (dead_list, dead_show, dead_replay, dead_purge)
