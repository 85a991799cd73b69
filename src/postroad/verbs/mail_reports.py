"""Takes reports about mails: they settle messages, and put recipients on the suppression list."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from postroad.model.ids import campaign_row, key_text
from postroad.model.mail_links import REFERENCE_LETTERS, MailLinks
from postroad.model.mail_report import MailReport, ReportKind, read_reports
from postroad.model.suppression import Reason, Suppression, list_address
from postroad.ports.campaigns import CampaignStore
from postroad.ports.store import Store

REFERENCE: Final = re.compile(rf"[A-Za-z2-7]{{{REFERENCE_LETTERS}}}")
REASONS: Final = {
    ReportKind.hard_bounce: Reason.hard_bounce,
    ReportKind.complaint: Reason.complaint,
}
STATUSES: Final = {
    ReportKind.hard_bounce: "undelivered",
    ReportKind.soft_bounce: "undelivered",
    ReportKind.policy: "undelivered",
    ReportKind.delivered: "delivered",
    ReportKind.complaint: "delivered",
}
NOTE_MAX: Final = 500


class ReportTaken(Struct, frozen=True):
    """What came of a mail: how many reports it had, how many recipients were suppressed, and how
    many reports say nothing about a message of this tenant."""

    reports: int = 0
    suppressed: int = 0
    ignored: int = 0


class _KnownMessage(Struct, frozen=True):
    """A message that a report is about."""

    number: int
    recipient: str


class MailReports:
    """Believes a report only about the message and the recipient that its reference is for."""

    def __init__(self, store: Store, campaigns: CampaignStore, links: MailLinks) -> None:
        self._store = store
        self._campaigns = campaigns
        self._links = links

    async def take(self, raw: bytes, to: str, tenant: str | None = None) -> ReportTaken:
        """Take a mail that came back. `to` is the address that it was sent to, if that is known.
        Without a tenant it may be about a message of any."""
        reports = read_reports(raw)
        suppressed = ignored = 0
        for report in reports:
            known = self._known(report, to)
            owner = None if known is None else await self._settled(known, report, tenant)
            if known is None or owner is None:
                ignored += 1
            elif report.kind in REASONS:
                suppressed += await self._suppressed(known, report, owner)
        return ReportTaken(len(reports), suppressed, ignored)

    def _known(self, report: MailReport, to: str) -> _KnownMessage | None:
        """Whom our own reference names, of those whom the report names."""
        for reference in _references((to, *report.marks)):
            number = self._links.number(reference)
            for recipient in report.recipients if number is not None else ():
                if self._links.is_for(reference, address := list_address(recipient)):
                    return _KnownMessage(number or 0, address)
        return None

    async def _settled(
        self, known: _KnownMessage, report: MailReport, tenant: str | None
    ) -> str | None:
        """Note what is reported with the message. Returns whose it is; None if it is not there, or
        another tenant's."""
        if known.number >= 0:
            facts = await self._store.message_facts(tenant, known.number)
            if facts is None:
                return None
            owner = facts.queue.tenant  # it was sent: that settles it where nobody knew
            _ = await self._store.settle(owner, known.number, sent=True)
            return owner
        campaign, n = campaign_row(known.number)
        found = await self._campaigns.campaign_by_id(campaign)
        if found is None or tenant not in (None, found.tenant):
            return None
        rows = await self._campaigns.page(campaign, None, n - 1, 1)
        said = (STATUSES[report.kind], report.code)
        if rows and rows[0].n == n:
            _ = await self._campaigns.callback(campaign, n, rows[0].provider_id, *said)  # or later
        return found.tenant

    async def _suppressed(self, known: _KnownMessage, report: MailReport, tenant: str) -> int:
        ref = key_text(known.number)
        name = ""
        if known.number < 0:
            found = await self._campaigns.campaign_by_id(campaign_row(known.number)[0])
            name = found.name if found is not None else ""
        note = f"{report.code} {report.text}".strip()[:NOTE_MAX]
        entry = Suppression(
            tenant,
            known.recipient,
            REASONS[report.kind],
            self._store.clock.now_ms(),
            name,
            ref,
            note,
        )
        return await self._store.suppress([entry])


def _references(marks: tuple[str, ...]) -> Iterator[str]:
    for mark in marks:
        for found in REFERENCE.finditer(mark.replace("b-", " ").replace("B-", " ")):
            yield found[0].lower()
