"""Takes reports about mails: they settle messages, and put recipients on the suppression list."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from postroad.model.audit import AuditEnd, AuditLine, AuditOutcome
from postroad.model.ids import campaign_row, key_text
from postroad.model.mail_links import REFERENCE_LETTERS, MailLinks
from postroad.model.mail_report import (
    MailReport,
    NotedReport,
    ReportKind,
    SoftBounces,
    read_reports,
)
from postroad.model.suppression import Reason, Suppression, SuppressionFilter, list_address
from postroad.ports.campaigns import CampaignStore
from postroad.ports.store import Store

REFERENCES_MAX: Final = 8
REFERENCE: Final = re.compile(rf"[A-Za-z2-7]{{{REFERENCE_LETTERS}}}")
REASONS: Final = {
    ReportKind.hard_bounce: Reason.hard_bounce,
    ReportKind.complaint: Reason.complaint,
}
STATUSES: Final = {
    ReportKind.hard_bounce: "bounced",
    ReportKind.soft_bounce: "bounced",
    ReportKind.policy: "bounced",
    ReportKind.delivered: "delivered",
    ReportKind.complaint: "complained",
}
NOTE_MAX: Final = 500
DAY_MS: Final = 86_400_000
VERB: Final = "suppression_add"


class ReportTaken(Struct, frozen=True):
    """The result of a mail that was taken: how many reports it had, how many recipients were
    suppressed, and how many reports say nothing about a message of this tenant."""

    reports: int = 0
    suppressed: int = 0
    ignored: int = 0


class _KnownMessage(Struct, frozen=True):
    """A message that a report is about, its recipient, and whose it is."""

    number: int
    recipient: str
    tenant: str
    campaign: str = ""


class MailReports:
    """Believes a report only about the message and the recipient that its reference is for."""

    def __init__(
        self,
        store: Store,
        campaigns: CampaignStore,
        links: MailLinks,
        soft: SoftBounces | None = None,
    ) -> None:
        self._store = store
        self._campaigns = campaigns
        self._links = links
        self._soft = soft

    async def take(
        self, raw: bytes, to: str, tenant: str | None = None, source: str = ""
    ) -> ReportTaken:
        """Take a mail that came back. `to` is the address that it was sent to, if that is known.
        Without a tenant it may be about a message of any. `source` is who says so in the audit log;
        empty where a request has its line there."""
        return await self.take_reports(read_reports(raw), to, tenant, source)

    async def take_reports(
        self, reports: Sequence[MailReport], to: str, tenant: str | None, source: str
    ) -> ReportTaken:
        """Take what was reported. Each step may be done again: who was not answered sends it once
        more."""
        suppressed = ignored = 0
        for report in reports:
            number, address = self._known(report, to)
            if not report.recipients and report.kind is ReportKind.complaint:
                number, address = await self._redacted(report, to)
            known = await self._settled(number, address, report, tenant) if address else None
            if known is None:
                ignored += 1
                continue
            reason = await self._reason(known, report)
            if reason is not None:
                suppressed += await self._suppressed(known, report, reason, source)
        return ReportTaken(len(reports), suppressed, ignored)

    def _known(self, report: MailReport, to: str) -> tuple[int, str]:
        """The message and the recipient that our own reference names, of those whom the report
        names."""
        for reference in _references((to, *report.marks)):
            number = self._links.number(reference)
            for recipient in report.recipients if number is not None else ():
                if self._links.is_for(reference, address := list_address(recipient)):
                    return number or 0, address
        return 0, ""

    async def _redacted(self, report: MailReport, to: str) -> tuple[int, str]:
        """The same of a complaint that names nobody, as some providers send it: the reference is
        for the recipient that we have stored."""
        for reference in _references((to, *report.marks)):
            number = self._links.number(reference)
            if number is None:
                continue
            address = list_address(await self._recipient(number))
            if self._links.is_for(reference, address):
                return number, address
        return 0, ""

    async def _recipient(self, number: int) -> str:
        if number >= 0:
            return (await self._store.recipients_of([number])).get(number, "")
        campaign, n = campaign_row(number)
        rows = await self._campaigns.page(campaign, None, n - 1, 1)
        return rows[0].recipient if rows and rows[0].n == n else ""

    async def _settled(
        self, number: int, address: str, report: MailReport, tenant: str | None
    ) -> _KnownMessage | None:
        """Note what is reported with the message; None if it is not there, or another tenant's."""
        known = await self._found(number, address, tenant)
        if known is None:
            return None
        note = f"{report.code} {report.text}".strip()[:NOTE_MAX]
        noted = NotedReport(report.kind, self._store.clock.now_ms(), report.code, note)
        mark = report.id or report.code
        _ = await self._store.add_report(
            known.tenant, number, address, noted, mark
        )  # or it is there
        if number >= 0:  # it was sent: that settles it where nobody knew
            _ = await self._store.settle(known.tenant, number, sent=True)
            return known
        campaign, n = campaign_row(number)
        rows = await self._campaigns.page(campaign, None, n - 1, 1)
        said = (STATUSES[report.kind], report.code)
        if rows and rows[0].n == n:
            _ = await self._campaigns.callback(campaign, n, rows[0].provider_id, *said)  # or later
        return known

    async def _found(self, number: int, address: str, tenant: str | None) -> _KnownMessage | None:
        if number >= 0:
            facts = await self._store.message_facts(tenant, number)
            return _KnownMessage(number, address, facts.queue.tenant) if facts else None
        found = await self._campaigns.campaign_by_id(campaign_row(number)[0])
        if found is None or tenant not in (None, found.tenant):
            return None
        return _KnownMessage(number, address, found.tenant, found.name)

    async def _reason(self, known: _KnownMessage, report: MailReport) -> Reason | None:
        """Why the recipient is not to be sent to any more; None if it is."""
        soft = self._soft
        if report.kind is not ReportKind.soft_bounce or soft is None:
            return REASONS.get(report.kind)
        since_ms = self._store.clock.now_ms() - soft.days * DAY_MS
        found = await self._store.soft_bounces(known.tenant, known.recipient, since_ms)
        enough = found[0] >= soft.count and found[1] >= soft.mails
        return Reason.soft_bounce if enough else None

    async def _suppressed(
        self, known: _KnownMessage, report: MailReport, reason: Reason, source: str
    ) -> int:
        """Put the recipient on the list, with a line in the audit log before; returns 1 if it is
        new."""
        tenant, recipient = known.tenant, known.recipient
        which = SuppressionFilter(reason, recipient)
        if await self._store.suppression_page(tenant, which, 0, 1):
            return 0
        ref, now_ms = key_text(known.number), self._store.clock.now_ms()
        what = {"recipient": recipient, "reason": str(reason), "message": ref}
        line = AuditLine(
            0, now_ms, None, tenant, source, source, "", VERB, what, AuditOutcome.asked, 0
        )
        number = await self._store.audit_add(line) if source else 0
        note = f"{report.code} {report.text}".strip()[:NOTE_MAX]
        entry = Suppression(tenant, recipient, reason, now_ms, known.campaign, ref, note)
        count = await self._store.suppress([entry])
        if source:
            end = AuditEnd(self._store.clock.now_ms(), AuditOutcome.done, 200, count, what)
            await self._store.audit_end(number, end)
        return count


def _references(marks: tuple[str, ...]) -> list[str]:
    """The first of what may be references of ours, each once: a stranger could write thousands."""
    found: dict[str, None] = {}
    for mark in marks:
        for one in REFERENCE.finditer(mark.replace("b-", " ").replace("B-", " ")):
            found[one[0].lower()] = None
            if len(found) == REFERENCES_MAX:
                return list(found)
    return list(found)
