"""Mailboxes of the hub: make, list, explain, delete, and the hub's figures."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from math import ceil
from typing import Annotated

from msgspec import Meta, Struct

from postroad.hub.access import new_box
from postroad.hub.pump import Hub
from postroad.hub.status import HubStatus, MailboxExplanation, mailbox_explanation
from postroad.model.cursors import cursor, place_in
from postroad.model.durations import Duration, seconds_of
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, NoHubHere, UnknownMailbox
from postroad.model.hubs import KnownHub
from postroad.model.mailbox import Box, HubLimits
from postroad.model.redaction import Redaction
from postroad.ports.log import Log
from postroad.ports.mailboxes import Mailboxes
from postroad.ports.store import Store
from postroad.ports.usage import CountedKind
from postroad.transports.hub import HubTransport
from postroad.transports.webhook.resolving import Resolve
from postroad.verbs.allowance import Allowance
from postroad.verbs.bounding import bounded
from postroad.verbs.paging import check_page

Quota = Annotated[int, Meta(ge=1, le=1_000_000)]
Seconds = Annotated[int, Meta(ge=1, le=31_536_000)]


def hub_transport(
    store: Store,
    hubs: Sequence[KnownHub],
    deny: Sequence[str],
    resolve: Resolve | None,
    redaction: Redaction,
) -> HubTransport:
    """The transport to hubs; it knows the tenants of the mailboxes in this store."""
    if not isinstance(store, Mailboxes):
        return HubTransport(hubs, deny=deny, resolve=resolve, redaction=redaction)

    async def owner_of(name: str) -> str | None:
        box = await store.box_find(name)
        return box.tenant if box is not None else None

    return HubTransport(hubs, deny=deny, resolve=resolve, owner_of=owner_of, redaction=redaction)


class NewMailbox(Struct, frozen=True):
    """A new mailbox with its tokens, which are not stored and cannot be shown again."""

    box: str
    sender_token: str
    recipient_token: str
    quota: int


class MailboxRow(Struct, frozen=True):
    """A mailbox, and how many messages wait in it."""

    box: str
    waiting: int
    over_quota: bool


class MailboxPage(Struct, frozen=True):
    """A page of mailboxes by name. `after` is for the next page; "" is the end."""

    mailboxes: tuple[MailboxRow, ...]
    after: str = ""


@bounded
class MailboxAdmin:
    """Make, list, explain and delete the hub's mailboxes. `hub` is the one of this process; without
    it `delete` runs a hub for as long as it takes."""

    def __init__(self, store: Store, log: Log, allowance: Allowance) -> None:
        self._allowance = allowance
        self._store = store
        self._log = log
        self.hub: Hub | None = None

    def _mailboxes(self) -> Mailboxes:
        if not isinstance(self._store, Mailboxes):
            raise BadInput("this store keeps no mailboxes: a hub needs SQLite or PostgreSQL")
        return self._store

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[Hub]:
        if self.hub is not None:
            yield self.hub
            return
        hub = Hub(self._mailboxes(), self._store.clock, self._log)
        await hub.open()
        try:
            yield hub
        finally:
            await hub.close()

    async def create(
        self, *, quota: int = 0, ttl_s: Duration = 0, tenant: str = DEFAULT_TENANT
    ) -> NewMailbox:
        """Make a mailbox. Its tokens are in the answer and cannot be read again."""
        kept_s = seconds_of(ttl_s)
        if not 0 <= quota <= 1_000_000 or not 0 <= kept_s <= 31_536_000:
            raise BadInput("quota: up to a million messages; ttl_s: up to a year, in seconds")
        store = self._mailboxes()
        if not await self._allowance.has_room(CountedKind.mailboxes, tenant, 1):
            raise self._allowance.refusal(CountedKind.mailboxes, tenant)
        box, made = new_box(HubLimits(), quota, ceil(kept_s), tenant)
        await store.box_create(box)
        return NewMailbox(made.box, made.sender_token, made.recipient_token, made.quota)

    async def list(
        self, *, limit: int = 100, after: str = "", tenant: str = DEFAULT_TENANT
    ) -> MailboxPage:
        """A page of mailboxes, by name."""
        check_page(limit)
        query = ("mailboxes", tenant)
        rows = await self._mailboxes().box_page(tenant, place_in(after, query), limit + 1)
        shown = tuple(MailboxRow(*row) for row in rows[:limit])
        return MailboxPage(shown, cursor(shown[-1].box, query) if len(rows) > limit else "")

    async def explain(self, box: str, *, tenant: str = DEFAULT_TENANT) -> MailboxExplanation:
        """Explain a mailbox: what waits in it, and why it is delivered or not."""
        found = await self._check(box, tenant)
        if self.hub is not None:
            return await self.hub.explain(box)
        text = f"{found.waiting} of {found.quota} messages wait; its hub runs in another process"
        return mailbox_explanation(found, "stored", text)

    async def delete(self, box: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Delete a mailbox and its messages; its subscriber is notified."""
        _ = await self._check(box, tenant)  # whether there is one
        async with self._served() as hub:
            await hub.delete(box)

    async def stats(self) -> HubStatus:
        """The figures of the hub in this process."""
        if self.hub is None:
            raise NoHubHere("no hub runs in this process: ask the one that runs `postroad hub`")
        return self.hub.status()

    async def _check(self, box: str, tenant: str) -> Box:
        found = await self._mailboxes().box_find(box)
        if found is None or found.tenant != tenant:
            raise UnknownMailbox(f"there is no mailbox {box!r} of tenant {tenant!r}")
        return found
