"""Export and erase what is stored about a tenant, or about one recipient of it."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from postroad.campaigns.redacting import CampaignRedaction
from postroad.model.durations import Duration, seconds_of
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput
from postroad.model.privacy import Erasure, Subject
from postroad.model.redaction import HIDDEN, Redaction
from postroad.ports.campaigns import CampaignRecords
from postroad.ports.privacy import Exported
from postroad.ports.store import Store
from postroad.stores.exported_rows import EXPORTS
from postroad.verbs.addressing import Addressing
from postroad.verbs.bounding import bounded
from postroad.verbs.erasures import ErasureWork
from postroad.verbs.paging import check_page
from postroad.verbs.tokens import check_tenant

PAGE: Final = 500
LOOK_S: Final = 0.1
NAMED_BY: Final = ("queue", "type", "mailbox")
"""The columns that say which rules of redaction a body has."""
Campaigns = dict[str, CampaignRedaction | None]
"""Those of a page's recipients, by name; None where one was deleted meanwhile."""


@bounded
class PrivacyVerbs:
    """Export or erase all that is stored about a tenant, or about one recipient of it: the name of
    a queue (a URL), a recipient of messages or campaigns (a number, a mail address), a mailbox."""

    def __init__(
        self,
        store: Store,
        work: ErasureWork,
        addressing: Addressing,
        redaction: Redaction,
        campaigns: CampaignRecords,
    ) -> None:
        self._campaigns = campaigns
        self._redaction = redaction
        self._store = store
        self._addressing = addressing
        self._work = work
        self.tasks = work.tasks

    async def erase(self, *, tenant: str | None = None, recipient: str | None = None) -> Erasure:
        """Erase all of a tenant, or one recipient (of the tenant `default` unless given). The job
        is stored when this returns, and goes on here or in any process that delivers; `erasure`
        tells how far it is. It covers what was sent before it was asked for."""
        subject = self._meant(tenant, recipient)
        return await self._work.begin(subject, self._store.clock.now_ms())

    def _meant(self, tenant: str | None, recipient: str | None) -> Subject:
        """Whose data is meant: an address names the same as its recipient."""
        return meant(tenant, self._addressing.bare(recipient) if recipient else recipient)

    async def erasure(
        self, number: int, *, tenant: str | None = DEFAULT_TENANT, wait: Duration = 0
    ) -> Erasure:
        """How far an erasure is. `wait`: for so many seconds at most until it is done."""
        clock = self._store.clock
        until_s = clock.steady_s() + seconds_of(wait)
        while True:
            found = await self._work.find(number, tenant)
            if found.is_done or clock.steady_s() >= until_s:
                return found
            await clock.sleep(LOOK_S)

    async def erasures(
        self, *, after: int = 0, limit: int = 100, tenant: str | None = DEFAULT_TENANT
    ) -> Sequence[Erasure]:
        """Erasures, the newest first; of a tenant, or of all (None)."""
        check_page(limit)
        return await self._store.erasure_page(tenant, 0, after, limit)

    async def export(
        self, *, tenant: str | None = None, recipient: str | None = None
    ) -> AsyncIterator[bytes]:
        """Export the same as NDJSON, a page in each piece, without secrets and without the fields
        that are redacted. What moves meanwhile, from waiting to delivered for example, may be in it
        twice."""
        subject = self._meant(tenant, recipient)
        for kind in EXPORTS:
            after: tuple[int, int] | None = (0, 0)
            while after is not None:
                rows, after = await self._store.export_page(kind, subject, after, PAGE)
                about = {"kind": kind, "tenant": subject.tenant}
                seen: Campaigns = {}
                lines = [about | await self._redacted(subject.tenant, row, seen) for row in rows]
                if lines:
                    yield msgspec.json.Encoder().encode_lines(lines)

    async def _redacted(self, tenant: str, row: Exported, seen: Campaigns) -> Exported:
        """A row without the fields of its body that are not shown, by its queue, its mailbox or
        the type of its event; of a recipient by its campaign."""
        if not self._redaction:
            return row
        if "fields" in row and self._redaction.hides(str(row["campaign"])):
            return row | {"fields": await self._shown_fields(tenant, row, seen)}
        if "body" not in row:
            return row
        name = next((str(row[each]) for each in NAMED_BY if each in row), "")
        return row | {"body": self._redaction.content(name, row["body"])}

    async def _shown_fields(self, tenant: str, row: Exported, seen: Campaigns) -> object:
        name = str(row["campaign"])
        if name not in seen:
            campaign = await self._campaigns.campaign(tenant, name)
            known = None if campaign is None else CampaignRedaction(self._redaction, campaign)
            seen[name] = known
        hiding = seen[name]
        if hiding is None:  # deleted meanwhile: nobody knows which of them are to be hidden
            return HIDDEN
        fields = msgspec.json.encode(row["fields"]).decode()
        return list(hiding.cells(fields).values())


def meant(tenant: str | None, recipient: str | None) -> Subject:
    """Whose data is meant; BadInput if nobody is named."""
    if recipient == "":  # a variable that was empty must not erase a whole tenant
        raise BadInput("recipient is empty: name one, or leave it out for all of the tenant")
    if not tenant and not recipient:
        raise BadInput("say whose: recipient=…, or tenant=… for all that is stored of a tenant")
    named = tenant or DEFAULT_TENANT
    check_tenant(named)
    if named == "*":
        raise BadInput("the tenant '*' is every tenant: name one")
    return Subject(named, recipient or "")
