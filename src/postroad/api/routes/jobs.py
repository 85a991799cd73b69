"""Jobs: what they returned."""

from typing import Annotated, Final

from msgspec import Meta

from postroad.api.request import Request
from postroad.api.routing import fetch
from postroad.model.tokens import Scope
from postroad.verbs.jobs import JobEnd


@fetch("/v1/messages/{id}/result", scope=Scope.read)
async def result(
    request: Request,
    id: str,  # noqa: A002 - the word that receipts use
    wait_s: Annotated[float, Meta(ge=0, le=40)] = 0.0,
) -> JobEnd:
    """Wait until a job has ended, at most so long, and tell what its handler returned (the option
    `result_ttl`), or why it failed."""
    return await request.road.jobs.wait(id, timeout=wait_s, tenant=request.tenant)


ROUTES: Final = (result,)
