"""Queues and lanes: list, explain, pause, resume, unblock and limit them."""

from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from postroad.api.paging import After, Limit, Most
from postroad.api.request import Request
from postroad.api.routing import fetch, give
from postroad.model.explain import LaneExplanation, QueueExplanation
from postroad.model.states import NEVER
from postroad.model.texts import QUEUE_MAX, Id, QueueName, Rate
from postroad.model.tokens import Scope
from postroad.verbs.inspection import LanePage, LevelRow, QueuePage
from postroad.verbs.limits import LimitOptions

OneQueue = Annotated[str, Meta(min_length=1, max_length=QUEUE_MAX)]
LaneNumber = Annotated[int, Meta(ge=1, le=(1 << 62))]
Trouble = Annotated[bool, Meta(description="Only what is in trouble")]
Cost = Annotated[int, Meta(ge=1, le=1_000_000, description="What each try counts as")]


class QueueRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which queue is meant."""

    queue: QueueName


class LaneRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which lane is meant."""

    lane: LaneNumber


class QueueLimit(Struct, frozen=True, forbid_unknown_fields=True):
    """The limit of a queue, as `50/s` or `50/s,1000/h`; null, without hours, lifts it."""

    queue: QueueName
    rate: Rate | None
    cost: Cost = 1
    hours: Id = ""
    zone: Id = ""


class LaneLimit(Struct, frozen=True, forbid_unknown_fields=True):
    """The limit that all lanes with this lane's credential share."""

    lane: LaneNumber
    rate: Rate | None
    cost: Cost = 1
    hours: Id = ""
    zone: Id = ""


class ControlAnswer(Struct, frozen=True):
    """What was done to what."""

    done: str
    queue: str = ""
    lane: int = 0


@fetch("/v1/queues", scope=Scope.read)
async def queues(
    request: Request,
    limit: Limit = 100,
    after: After = "",
    trouble: Trouble = False,
    most: Most = NEVER,
) -> QueuePage:
    """List queues by name, with what waits in each; with `trouble` only those that are blocked,
    paused, or held by an exhausted message."""
    return await request.road.inspect.queues(
        limit=limit, after=after, trouble=trouble, most=most, tenant=request.tenant
    )


@fetch("/v1/queues:explain", scope=Scope.read)
async def explain_queue(request: Request, queue: OneQueue) -> QueueExplanation:
    """Explain a queue: what waits in it, what holds it back, what comes next."""
    return await request.road.explain_queue(queue, tenant=request.tenant)


@fetch("/v1/lanes", scope=Scope.read)
async def lanes(
    request: Request,
    limit: Limit = 100,
    after: After = "",
    trouble: Trouble = False,
    most: Most = NEVER,
) -> LanePage:
    """List lanes by number: circuit, owner, what waits; with `trouble` only those that are paused
    or whose circuits are open."""
    return await request.road.inspect.lanes(
        limit=limit, after=after, trouble=trouble, most=most, tenant=request.tenant
    )


@fetch("/v1/lanes:explain", scope=Scope.read)
async def explain_lane(request: Request, lane: LaneNumber) -> LaneExplanation:
    """Explain a lane: what waits in it, what holds it back, which process serves it."""
    return await request.road.explain_lane(lane, tenant=request.tenant)


@fetch("/v1/levels", scope=Scope.read)
async def levels(request: Request, most: Most = NEVER) -> list[LevelRow]:
    """Show the retry levels with live counts. `queries` and `queries_per_hour` count for the whole
    process, so they are 0 for a token of one tenant."""
    rows = await request.road.inspect.levels(most=most, tenant=request.tenant)
    if request.who.every_tenant:
        return rows
    return [replace(row, queries=0, queries_per_hour=0.0) for row in rows]


@give("/v1/queues:pause", scope=Scope.manage)
async def pause_queue(request: Request, asked: QueueRequest) -> ControlAnswer:
    """Pause a queue: new messages are accepted, and no try starts."""
    await request.road.pause(asked.queue, tenant=request.tenant)
    return ControlAnswer("paused", queue=asked.queue)


@give("/v1/queues:resume", scope=Scope.manage)
async def resume_queue(request: Request, asked: QueueRequest) -> ControlAnswer:
    """Resume a paused queue."""
    await request.road.resume(asked.queue, tenant=request.tenant)
    return ControlAnswer("resumed", queue=asked.queue)


@give("/v1/queues:unblock", scope=Scope.manage)
async def unblock_queue(request: Request, asked: QueueRequest) -> ControlAnswer:
    """Lift a queue's block now: quota, rule, handler, setup, unreachable or disabled."""
    await request.road.unblock(asked.queue, tenant=request.tenant)
    return ControlAnswer("unblocked", queue=asked.queue)


@give("/v1/queues:limit", scope=Scope.manage)
async def limit_queue(request: Request, asked: QueueLimit) -> ControlAnswer:
    """Limit how many tries of a queue start, in the whole fleet, from now on."""
    await request.road.limit(asked.queue, asked.rate, tenant=request.tenant, **_options(asked))
    return ControlAnswer("limited", queue=asked.queue)


@give("/v1/lanes:pause", scope=Scope.manage)
async def pause_lane(request: Request, asked: LaneRequest) -> ControlAnswer:
    """Pause all queues of a lane."""
    await request.road.lanes.pause(asked.lane, tenant=request.tenant)
    return ControlAnswer("paused", lane=asked.lane)


@give("/v1/lanes:resume", scope=Scope.manage)
async def resume_lane(request: Request, asked: LaneRequest) -> ControlAnswer:
    """Resume a paused lane."""
    await request.road.lanes.resume(asked.lane, tenant=request.tenant)
    return ControlAnswer("resumed", lane=asked.lane)


@give("/v1/lanes:unblock", scope=Scope.manage)
async def unblock_lane(request: Request, asked: LaneRequest) -> ControlAnswer:
    """Close a lane's circuit now."""
    await request.road.lanes.unblock(asked.lane, tenant=request.tenant)
    return ControlAnswer("unblocked", lane=asked.lane)


@give("/v1/lanes:limit", scope=Scope.manage)
async def limit_lane(request: Request, asked: LaneLimit) -> ControlAnswer:
    """Limit how many tries start on all lanes with this lane's credential."""
    lanes, tenant = request.road.lanes, request.tenant
    await lanes.limit(asked.lane, asked.rate, tenant=tenant, **_options(asked))
    return ControlAnswer("limited", lane=asked.lane)


def _options(asked: QueueLimit | LaneLimit) -> LimitOptions:
    return {"cost": asked.cost, "hours": asked.hours, "zone": asked.zone}


ROUTES: Final = (
    queues,
    explain_queue,
    lanes,
    explain_lane,
    levels,
    pause_queue,
    resume_queue,
    unblock_queue,
    limit_queue,
    pause_lane,
    resume_lane,
    unblock_lane,
    limit_lane,
)
