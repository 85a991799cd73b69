"""Jobs: what they returned, and which ones run."""

from contextlib import nullcontext
from typing import Annotated, Final

from msgspec import Meta
from msgspec.structs import replace

from postroad.api.bodies import sees_bodies
from postroad.api.paging import Limit
from postroad.api.request import Request
from postroad.api.routing import fetch
from postroad.model.tokens import Scope
from postroad.verbs.jobs import JobEnd, RunningJob

RESULT_HIDDEN: Final = "results, tracebacks and notes are shown to tokens with the scope 'bodies'"


@fetch("/v1/messages/{id}/result", scope=Scope.read)
async def result(
    request: Request,
    id: str,  # noqa: A002 - the word that receipts use
    wait_s: Annotated[float, Meta(ge=0, le=40)] = 0.0,
) -> JobEnd:
    """Wait until a job has ended, at most so long, and tell what its handler returned (the option
    `result_ttl`), or why it failed."""
    with request.context.waits.one(request.tenant) if wait_s else nullcontext():
        end = await request.road.jobs.wait(id, timeout=wait_s, tenant=request.tenant)
    return end if sees_bodies(request) else _without_bodies(end)


def _without_bodies(end: JobEnd) -> JobEnd:
    """Return what those see who may not see bodies: neither the result nor what the job noted."""
    progress = end.progress and replace(end.progress, note="")
    if not end.kept and not end.failures and progress == end.progress:
        return end
    return replace(end, result=None, failures=(), progress=progress, hidden=RESULT_HIDDEN)


@fetch("/v1/jobs", scope=Scope.read)
async def running(request: Request, limit: Limit = 100) -> tuple[RunningJob, ...]:
    """List jobs that run and have told how far they have come, those that told last first."""
    found = await request.road.jobs.running(limit=limit, tenant=request.tenant)
    if sees_bodies(request):
        return found
    return tuple(replace(one, progress=replace(one.progress, note="")) for one in found)


ROUTES: Final = (result, running)
