"""Figures of the whole fleet: rollups, and workers."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta

from postroad.api.request import Request
from postroad.api.routing import fetch
from postroad.model.errors import Forbidden
from postroad.model.rollup import GroupBy, Step
from postroad.model.tokens import Scope
from postroad.verbs.figures import NAMES_MAX, RollupPage, WorkerPage

Moment = Annotated[datetime, Meta(tz=True)]
Names = Annotated[int, Meta(ge=1, le=NAMES_MAX, description="How many names at most")]


@fetch("/v1/rollups", scope=Scope.read)
async def rollups(
    request: Request,
    since: Moment | None = None,
    until: Moment | None = None,
    step: Step = Step.ten_seconds,
    by: GroupBy = GroupBy.outcome,
    names: Names = 10,
) -> RollupPage:
    """Show tries by outcome, deaths and lateness over time. A token of every tenant sees all
    tenants with by=tenant, and else the one that it names."""
    everybody = by is GroupBy.tenant and request.who.every_tenant
    tenant = None if everybody else request.tenant
    verb = request.road.rollups.list
    return await verb(since=since, until=until, step=step, by=by, names=names, tenant=tenant)


@fetch("/v1/workers", scope=Scope.read)
async def workers(request: Request) -> WorkerPage:
    """List the processes that deliver. They work for all tenants: a tenant's token is refused."""
    if not request.who.every_tenant:
        raise Forbidden("workers serve all tenants: this needs a token of every tenant")
    return await request.road.workers.list()


ROUTES: Final = (rollups, workers)
