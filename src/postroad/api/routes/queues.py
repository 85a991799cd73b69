"""Queues and lanes: look at them, explain them, pause, resume, unblock, limit."""

from typing import Annotated, Final

import msgspec
from litestar.params import QueryParameter
from msgspec import Struct
from msgspec.structs import replace

from postroad.api.context import Ask, context, who
from postroad.api.routing import fetch, give
from postroad.api.paging import After, Limit
from postroad.api.reading import read, takes
from postroad.model.explain import LaneExplanation, QueueExplanation
from postroad.model.texts import QUEUE_MAX, QueueName, Rate
from postroad.model.tokens import Scope
from postroad.verbs.inspection import LanePage, LevelRow, QueuePage

OneQueue = Annotated[str, QueryParameter(min_length=1, max_length=QUEUE_MAX)]
LaneNumber = Annotated[int, QueryParameter(ge=1, le=(1 << 62))]
Cost = Annotated[int, msgspec.Meta(ge=1, le=1_000_000, description="What each try counts as")]


class QueueRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which queue is meant."""

    queue: QueueName


class LaneRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which lane is meant."""

    lane: Annotated[int, msgspec.Meta(ge=1, le=1 << 62)]


class QueueLimit(Struct, frozen=True, forbid_unknown_fields=True):
    """How fast a queue may be: `50/s`, `50/s,1000/h`; null lifts its limit."""

    queue: QueueName
    rate: Rate | None
    cost: Cost = 1


class LaneLimit(Struct, frozen=True, forbid_unknown_fields=True):
    """How fast all lanes of this lane's credential may be together."""

    lane: Annotated[int, msgspec.Meta(ge=1, le=1 << 62)]
    rate: Rate | None
    cost: Cost = 1


class Done(Struct, frozen=True):
    """What was done to what."""

    done: str
    queue: str = ""
    lane: int = 0


QUEUE: Final = msgspec.json.Decoder(QueueRequest)
LANE: Final = msgspec.json.Decoder(LaneRequest)
QUEUE_LIMIT: Final = msgspec.json.Decoder(QueueLimit)
LANE_LIMIT: Final = msgspec.json.Decoder(LaneLimit)


@fetch("/v1/queues", scope=Scope.read)
async def queues(request: Ask, limit: Limit = 100, after: After = "") -> QueuePage:
    """Queues by name, with what waits in each."""
    tenant = who(request).tenant
    return await context(request).road.inspect.queues(limit=limit, after=after, tenant=tenant)


@fetch("/v1/queues:explain", scope=Scope.read)
async def explain_queue(request: Ask, queue: OneQueue) -> QueueExplanation:
    """What waits in a queue, what holds it back, what comes next."""
    return await context(request).road.explain_queue(queue, tenant=who(request).tenant)


@fetch("/v1/lanes", scope=Scope.read)
async def lanes(request: Ask, limit: Limit = 100, after: After = "") -> LanePage:
    """Lanes by number: circuit, owner, what waits."""
    tenant = who(request).tenant
    return await context(request).road.inspect.lanes(limit=limit, after=after, tenant=tenant)


@fetch("/v1/lanes:explain", scope=Scope.read)
async def explain_lane(request: Ask, lane: LaneNumber) -> LaneExplanation:
    """What waits in a lane, what holds it back, who serves it."""
    return await context(request).road.explain_lane(lane, tenant=who(request).tenant)


@fetch("/v1/levels", scope=Scope.read)
async def levels(request: Ask) -> list[LevelRow]:
    """The retry-level table with live counts. `queries`, which is of the whole process, is 0 for a
    token of one tenant."""
    rows = await context(request).road.inspect.levels(tenant=who(request).tenant)
    if who(request).every_tenant:
        return rows
    return [replace(row, queries=0) for row in rows]


@give("/v1/queues:pause", scope=Scope.manage, status_code=200, operation_class=takes(QueueRequest))
async def pause_queue(request: Ask) -> Done:
    """Hold all messages of a queue; new ones are accepted."""
    asked = await read(request, QUEUE)
    await context(request).road.pause(asked.queue, tenant=who(request).tenant)
    return Done("paused", queue=asked.queue)


@give("/v1/queues:resume", scope=Scope.manage, status_code=200, operation_class=takes(QueueRequest))
async def resume_queue(request: Ask) -> Done:
    """Let a paused queue go on."""
    asked = await read(request, QUEUE)
    await context(request).road.resume(asked.queue, tenant=who(request).tenant)
    return Done("resumed", queue=asked.queue)


@give(
    "/v1/queues:unblock", scope=Scope.manage, status_code=200, operation_class=takes(QueueRequest)
)
async def unblock_queue(request: Ask) -> Done:
    """Lift a queue's hold-off now: quota, unreachable or disabled."""
    asked = await read(request, QUEUE)
    await context(request).road.unblock(asked.queue, tenant=who(request).tenant)
    return Done("unblocked", queue=asked.queue)


@give("/v1/queues:limit", scope=Scope.manage, status_code=200, operation_class=takes(QueueLimit))
async def limit_queue(request: Ask) -> Done:
    """Start no more tries of a queue than that, from now on, in the whole fleet."""
    asked = await read(request, QUEUE_LIMIT)
    tenant = who(request).tenant
    await context(request).road.limit(asked.queue, asked.rate, cost=asked.cost, tenant=tenant)
    return Done("limited", queue=asked.queue)


@give("/v1/lanes:pause", scope=Scope.manage, status_code=200, operation_class=takes(LaneRequest))
async def pause_lane(request: Ask) -> Done:
    """Hold all queues of a lane."""
    asked = await read(request, LANE)
    await context(request).road.lanes.pause(asked.lane, tenant=who(request).tenant)
    return Done("paused", lane=asked.lane)


@give("/v1/lanes:resume", scope=Scope.manage, status_code=200, operation_class=takes(LaneRequest))
async def resume_lane(request: Ask) -> Done:
    """Let a paused lane go on."""
    asked = await read(request, LANE)
    await context(request).road.lanes.resume(asked.lane, tenant=who(request).tenant)
    return Done("resumed", lane=asked.lane)


@give("/v1/lanes:unblock", scope=Scope.manage, status_code=200, operation_class=takes(LaneRequest))
async def unblock_lane(request: Ask) -> Done:
    """Close a lane's circuit now."""
    asked = await read(request, LANE)
    await context(request).road.lanes.unblock(asked.lane, tenant=who(request).tenant)
    return Done("unblocked", lane=asked.lane)


@give("/v1/lanes:limit", scope=Scope.manage, status_code=200, operation_class=takes(LaneLimit))
async def limit_lane(request: Ask) -> Done:
    """Start no more on all lanes of a lane's credential than that."""
    asked = await read(request, LANE_LIMIT)
    tenant = who(request).tenant
    await context(request).road.lanes.limit(asked.lane, asked.rate, cost=asked.cost, tenant=tenant)
    return Done("limited", lane=asked.lane)


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
