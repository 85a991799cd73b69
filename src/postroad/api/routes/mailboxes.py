"""The hub's mailboxes: make, list, explain, delete."""

from typing import Final

from msgspec import Struct

from postroad.api.paging import After, Limit
from postroad.api.request import Request
from postroad.api.routing import drop, fetch, give
from postroad.hub.status import HubStatus, MailboxExplanation
from postroad.model.errors import Forbidden
from postroad.model.tokens import Scope
from postroad.verbs.mailboxes import MailboxPage, NewMailbox, Quota, Seconds


class MailboxRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A mailbox to be made; what is left out is as the hub has it."""

    quota: Quota | None = None
    ttl_s: Seconds | None = None


@give("/v1/mailboxes", scope=Scope.manage, status=201)
async def mailbox_create(request: Request, asked: MailboxRequest) -> NewMailbox:
    """Make a mailbox. Its tokens are in this answer and nowhere else."""
    tenant = request.tenant
    boxes = request.road.mailboxes
    return await boxes.create(quota=asked.quota or 0, ttl_s=asked.ttl_s or 0, tenant=tenant)


@fetch("/v1/mailboxes", scope=Scope.read)
async def mailbox_list(request: Request, limit: Limit = 100, after: After = "") -> MailboxPage:
    """Mailboxes by name, with what lies in each."""
    boxes = request.road.mailboxes
    return await boxes.list(limit=limit, after=after, tenant=request.tenant)


@fetch("/v1/mailboxes/{box}", scope=Scope.read)
async def mailbox_explain(request: Request, box: str) -> MailboxExplanation:
    """What waits in a mailbox, and why it goes or does not."""
    return await request.road.mailboxes.explain(box, tenant=request.tenant)


@drop("/v1/mailboxes/{box}", scope=Scope.manage, status=204)
async def mailbox_delete(request: Request, box: str) -> None:
    """Delete a mailbox with all that is in it."""
    await request.road.mailboxes.delete(box, tenant=request.tenant)


@fetch("/v1/hub", scope=Scope.read)
async def hub_stats(request: Request) -> HubStatus:
    """How the hub of this process stands: who is connected, what is pending or unacked. Only for a
    token of every tenant: its counts are of all of them."""
    if not request.who.every_tenant:
        raise Forbidden(
            "the hub's counts are of all tenants: ask with a token of every tenant; what is yours "
            "is in /v1/mailboxes"
        )
    return await request.road.mailboxes.stats()


ROUTES: Final = (mailbox_create, mailbox_list, mailbox_explain, mailbox_delete, hub_stats)
