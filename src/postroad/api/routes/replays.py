"""Replays: jobs that send again what failed, what a window held, or what an endpoint missed."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType, structs

from postroad.api.paging import After, Limit, Moment
from postroad.api.request import Request, Response
from postroad.api.routing import fetch, give
from postroad.model.dead import ReplayMode
from postroad.model.replay import ReplayWhat
from postroad.model.states import DeadReason
from postroad.model.texts import ErrorText, Id, QueueName, Rate
from postroad.model.tokens import Scope
from postroad.verbs.replays import Replay, ReplayPage


class ReplayStart(Struct, frozen=True, forbid_unknown_fields=True):
    """What is sent again: what `failed`, `all` events of a window, or those that an endpoint
    `missed`. With `dry_run` it is only counted."""

    what: ReplayWhat = ReplayWhat.failed
    endpoint: Id | UnsetType = UNSET
    queue: QueueName | UnsetType = UNSET
    reason: DeadReason | UnsetType = UNSET
    error: ErrorText | UnsetType = UNSET
    since: Moment | UnsetType = UNSET
    until: Moment | UnsetType = UNSET
    rate: Rate | UnsetType = UNSET
    mode: ReplayMode | UnsetType = UNSET
    dry_run: bool = False


@give("/v1/replays", scope=Scope.manage, status=201, also=(200,))
async def replay_start(request: Request, asked: ReplayStart) -> Response[Replay]:
    """Start a replay. It is stored when this answers, and goes on in any process that delivers.
    200: it was only counted."""
    given = {name: each for name, each in structs.asdict(asked).items() if each is not UNSET}
    said = await request.road.replays.start(tenant=request.tenant, **given)
    if asked.dry_run:
        return Response(said, status=200)
    return Response(said, status=201, headers={"location": f"/v1/replays/{said.id}"})


@fetch("/v1/replays", scope=Scope.read)
async def replay_list(request: Request, limit: Limit = 100, after: After = "") -> ReplayPage:
    """List replays, the newest first."""
    return await request.road.replays.list(limit=limit, after=after, tenant=request.tenant)


@fetch("/v1/replays/{id}", scope=Scope.read)
async def replay_show(request: Request, id: str) -> Replay:  # noqa: A002
    """Show how far a replay is."""
    return await request.road.replays.get(id, tenant=request.tenant)


@give("/v1/replays/{id}/pause", scope=Scope.manage)
async def replay_pause(request: Request, id: str) -> Replay:  # noqa: A002
    """Let a replay send nothing more until it is resumed."""
    return await request.road.replays.pause(id, tenant=request.tenant)


@give("/v1/replays/{id}/resume", scope=Scope.manage)
async def replay_resume(request: Request, id: str) -> Replay:  # noqa: A002
    """Let a paused replay go on where it was."""
    return await request.road.replays.resume(id, tenant=request.tenant)


@give("/v1/replays/{id}/cancel", scope=Scope.manage)
async def replay_cancel(request: Request, id: str) -> Replay:  # noqa: A002
    """End a replay. What it has sent again stays."""
    return await request.road.replays.cancel(id, tenant=request.tenant)


ROUTES: Final = (
    replay_start,
    replay_list,
    replay_show,
    replay_pause,
    replay_resume,
    replay_cancel,
)
