"""Timetables: make, list, show, change, pause, resume, run and delete them."""

from base64 import b64encode
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, structs

from postroad.api.bodies import HIDDEN, from_base64, sees_bodies
from postroad.api.paging import After, Limit
from postroad.api.problems import BadRequest
from postroad.api.request import Request, Response
from postroad.api.routing import change, drop, fetch, give
from postroad.model.texts import NAME_MAX, Id, Name, QueueName
from postroad.model.ticks import BODY_BYTES_MAX, Missed
from postroad.model.tokens import Scope
from postroad.remote.api_request import part
from postroad.verbs.cron import EVERY_MS_MAX
from postroad.verbs.timetable_facts import Timetable, TimetablePage, TimetableRun

NULL: Final = b"null"
Base64 = Annotated[str, Meta(max_length=4 * -(-BODY_BYTES_MAX // 3))]
Seconds = Annotated[float, Meta(ge=0, le=EVERY_MS_MAX / 1000)]


class TimetableRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A timetable: at the times of a `cron` line in a `zone`, or every `every_s` seconds, `body`
    (any JSON), or the bytes of `body_base64`, is sent to `queue`. `missed` says what becomes of
    times at which no process ran."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
    queue: Annotated[QueueName, Meta(min_length=1)]
    body: Raw | UnsetType = UNSET
    body_base64: Base64 | None = None
    cron: Name | UnsetType = UNSET
    every_s: Seconds | UnsetType = UNSET
    zone: Id | UnsetType = UNSET
    missed: Missed | UnsetType = UNSET
    paused: bool = False


class TimetableChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be different; the rest stays."""

    queue: Annotated[QueueName, Meta(min_length=1)] | UnsetType = UNSET
    body: Raw | UnsetType = UNSET
    body_base64: Base64 | None = None
    cron: Name | UnsetType = UNSET
    every_s: Seconds | UnsetType = UNSET
    zone: Id | UnsetType = UNSET
    missed: Missed | UnsetType = UNSET


@give("/v1/timetables", scope=Scope.manage, status=201)
async def timetable_create(request: Request, asked: TimetableRequest) -> Response[Timetable]:
    """Make a timetable. Each of its times is one message in the whole fleet."""
    made = await request.road.timetables.create(tenant=request.tenant, **_given(asked))
    place = {"location": f"/v1/timetables/{part(made.name)}"}
    return Response(_shown(request, made), status=201, headers=place)


@fetch("/v1/timetables", scope=Scope.read)
async def timetable_list(request: Request, limit: Limit = 100, after: After = "") -> TimetablePage:
    """List timetables by name, also those that programs declare (`origin` is `code`)."""
    return await request.road.timetables.list(limit=limit, after=after, tenant=request.tenant)


@fetch("/v1/timetables/{name}", scope=Scope.read)
async def timetable_show(request: Request, name: str) -> Timetable:
    """Show a timetable with its next times, and what it sends."""
    return _shown(request, await request.road.timetables.show(name, tenant=request.tenant))


@change("/v1/timetables/{name}", scope=Scope.manage)
async def timetable_change(request: Request, name: str, asked: TimetableChanges) -> Timetable:
    """Change a timetable. Times of the old plan that are due already are decided by it."""
    given = _given(asked)
    changed = await request.road.timetables.change(name, tenant=request.tenant, **given)
    return _shown(request, changed)


@give("/v1/timetables/{name}/pause", scope=Scope.manage)
async def timetable_pause(request: Request, name: str) -> Timetable:
    """Let a timetable send nothing until it is resumed."""
    return _shown(request, await request.road.timetables.pause(name, tenant=request.tenant))


@give("/v1/timetables/{name}/resume", scope=Scope.manage)
async def timetable_resume(request: Request, name: str) -> Timetable:
    """Let a paused timetable go on, from now."""
    return _shown(request, await request.road.timetables.resume(name, tenant=request.tenant))


@give("/v1/timetables/{name}/run", scope=Scope.manage, status=201)
async def timetable_run(request: Request, name: str) -> TimetableRun:
    """Send what a timetable sends, now and once. Its times stay."""
    return await request.road.timetables.run_now(name, tenant=request.tenant)


@drop("/v1/timetables/{name}", scope=Scope.manage, status=204)
async def timetable_delete(request: Request, name: str) -> None:
    """Delete a timetable. What it has sent stays."""
    await request.road.timetables.delete(name, tenant=request.tenant)


def _given(asked: TimetableRequest | TimetableChanges) -> dict[str, Any]:
    """Return the fields that are given. What is shown can be sent back: an empty `cron`, an
    `every_s` of 0 and a null body beside `body_base64` count as not given."""
    given = {name: each for name, each in structs.asdict(asked).items() if each is not UNSET}
    if (encoded := given.pop("body_base64")) is not None:
        if bytes(given.get("body", NULL)) != NULL:
            raise BadRequest("give body (any JSON) or body_base64 (bytes), one of them")
        given["body"] = from_base64(encoded)
    elif isinstance(asked, TimetableRequest) and "body" not in given:
        raise BadRequest("give what it sends: body (any JSON, also null) or body_base64 (bytes)")
    given = {name: each for name, each in given.items() if each or name not in ("cron", "every_s")}
    return {"every" if name == "every_s" else name: each for name, each in given.items()}


def _shown(request: Request, one: Timetable) -> Timetable:
    if one.body is None:
        return one
    if not sees_bodies(request):
        return structs.replace(one, body=None, hidden=HIDDEN)
    if isinstance(one.body, bytes):
        return structs.replace(one, body=None, body_base64=b64encode(one.body).decode())
    return one


ROUTES: Final = (
    timetable_create,
    timetable_list,
    timetable_show,
    timetable_change,
    timetable_pause,
    timetable_resume,
    timetable_run,
    timetable_delete,
)
