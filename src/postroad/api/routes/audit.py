"""The audit log: who changed what."""

from typing import Annotated, Final

from msgspec import Meta

from postroad.api.paging import After, Limit, Moment
from postroad.api.request import Request
from postroad.api.routing import fetch
from postroad.model.texts import NAME_MAX
from postroad.model.tokens import Scope
from postroad.verbs.audit import AuditPage

Word = Annotated[str, Meta(max_length=NAME_MAX)]


@fetch("/v1/audit", scope=Scope.admin)
async def audit_list(
    request: Request,
    limit: Limit = 100,
    after: After = "",
    since: Moment | None = None,
    until: Moment | None = None,
    actor: Word | None = None,
    verb: Word | None = None,
) -> AuditPage:
    """List who changed what, the newest first. A token of every tenant sees the lines of all, or
    of the one that it names."""
    asker = request.who
    every = asker.every_tenant and request.headers.get("postroad-tenant") is None
    return await request.road.audit.list(
        limit=limit,
        after=after,
        since=since,
        until=until,
        actor=actor,
        verb=verb,
        tenant=None if every else asker.tenant,
    )


ROUTES: Final = (audit_list,)
