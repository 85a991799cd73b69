"""Replays: jobs that send again what failed, what a window held, or what an endpoint missed."""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import UNSET, Struct, UnsetType, structs

from postroad.api.paging import After, Limit, Moment
from postroad.api.request import Request, Response
from postroad.api.routing import Route, fetch, give
from postroad.model.dead import ReplayMode
from postroad.model.replay import ReplayWhat
from postroad.model.states import DeadReason
from postroad.model.texts import ErrorText, Id, QueueName, Rate
from postroad.model.tokens import Scope
from postroad.verbs.replays import Replay, ReplayPage, ReplayVerbs


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


def _action(verb: Callable[..., Awaitable[Replay]], text: str) -> Route:
    """Make the route of a verb that takes the id of a replay and nothing else."""

    async def act(request: Request, id: str) -> Replay:  # noqa: A002
        return await verb(request.road.replays, id, tenant=request.tenant)

    act.__name__, act.__doc__ = f"replay_{verb.__name__}", text
    return give(f"/v1/replays/{{id}}/{verb.__name__}", scope=Scope.manage)(act)


replay_pause = _action(ReplayVerbs.pause, "Let a replay send nothing more until it is resumed.")
replay_resume = _action(ReplayVerbs.resume, "Let a paused replay go on where it was.")
replay_cancel = _action(ReplayVerbs.cancel, "End a replay. What it has sent again stays.")


ROUTES: Final = (
    replay_start,
    replay_list,
    replay_show,
    replay_pause,
    replay_resume,
    replay_cancel,
)
