"""The hub's mailboxes: make, list, explain, delete."""

from typing import Final

import msgspec
from litestar.params import FromPath
from msgspec import Struct

from postroad.api.context import Ask, context, who
from postroad.api.routing import drop, fetch, give
from postroad.api.paging import After, Limit
from postroad.api.reading import read, takes
from postroad.hub.shown import Explained, Shown
from postroad.model.errors import Forbidden
from postroad.model.tokens import Scope
from postroad.verbs.mailboxes import MailboxPage, NewMailbox, Quota, Seconds


class MailboxRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A mailbox to be made; what is left out is as the hub has it."""

    quota: Quota | None = None
    ttl_s: Seconds | None = None


MAKE: Final = msgspec.json.Decoder(MailboxRequest)


@give("/v1/mailboxes", scope=Scope.manage, status_code=201, operation_class=takes(MailboxRequest))
async def mailbox_create(request: Ask) -> NewMailbox:
    """Make a mailbox. Its tokens are in this answer and nowhere else."""
    asked, tenant = await read(request, MAKE), who(request).tenant
    boxes = context(request).road.mailboxes
    return await boxes.create(quota=asked.quota or 0, ttl_s=asked.ttl_s or 0, tenant=tenant)


@fetch("/v1/mailboxes", scope=Scope.read)
async def mailbox_list(request: Ask, limit: Limit = 100, after: After = "") -> MailboxPage:
    """Mailboxes by name, with what lies in each."""
    boxes = context(request).road.mailboxes
    return await boxes.list(limit=limit, after=after, tenant=who(request).tenant)


@fetch("/v1/mailboxes/{box:str}", scope=Scope.read)
async def mailbox_explain(request: Ask, box: FromPath[str]) -> Explained:
    """What waits in a mailbox, and why it goes or does not."""
    return await context(request).road.mailboxes.explain(box, tenant=who(request).tenant)


@drop("/v1/mailboxes/{box:str}", scope=Scope.manage, status_code=204)
async def mailbox_delete(request: Ask, box: FromPath[str]) -> None:
    """Delete a mailbox with all that is in it."""
    await context(request).road.mailboxes.delete(box, tenant=who(request).tenant)


@fetch("/v1/hub", scope=Scope.read)
async def hub_stats(request: Ask) -> Shown:
    """How the hub of this process stands: who is connected, what is pending or unacked. Only for a
    token of every tenant: its counts are of all of them."""
    if not who(request).every_tenant:
        raise Forbidden(
            "the hub's counts are of all tenants: ask with a token of every tenant; what is yours "
            "is in /v1/mailboxes"
        )
    return await context(request).road.mailboxes.stats()


ROUTES: Final = (mailbox_create, mailbox_list, mailbox_explain, mailbox_delete, hub_stats)
