"""Suppression lists: what both databases do alike."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from postroad.model.mail_report import NotedReport, ReportKind
from postroad.model.states import NEVER
from postroad.model.suppression import Reason, Suppression, SuppressionFilter, erased_form
from postroad.stores.statements import Row, Statements

SLICE: Final = 1_000


class SuppressionTable(Statements):
    """Stores suppression lists."""

    async def suppress(self, entries: Sequence[Suppression]) -> int:
        """Add entries; answers how many are new."""
        rows = [
            (one.tenant, one.recipient, one.reason, one.at_ms, one.campaign, one.message, one.note)
            for one in entries
        ]
        return await self.count("suppress", "suppression_add", _json(rows)) if rows else 0

    async def suppressed(self, tenant: str, recipients: Sequence[str]) -> dict[str, Reason]:
        """Those of the recipients that are not to be sent to, each with its strongest reason."""
        if not recipients:
            return {}
        rows = await self.select("suppress", "suppression_match", tenant, _json(list(recipients)))
        found: dict[str, Reason] = {}
        for recipient, reason in rows:
            found[recipient] = Reason(min(reason, found.get(recipient, reason)))
        return found

    async def suppression_page(
        self, tenant: str, which: SuppressionFilter, after: int, limit: int
    ) -> list[Suppression]:
        """Entries of a list, the newest first."""
        values = (tenant, after or NEVER, which.reason, limit)
        if not which.recipient:
            return _read(await self.select("suppress", "suppression_page", *values))
        forms = (which.recipient, erased_form(tenant, which.recipient))
        return _read(await self.select("suppress", "suppression_of", *values, *forms))

    async def unsuppress(self, tenant: str, recipient: str, reason: str) -> int:
        """Take a recipient off a list; answers how many entries went."""
        forms = (recipient, erased_form(tenant, recipient))
        return await self.count("suppress", "suppression_remove", tenant, *forms, reason)

    async def add_report(
        self, tenant: str, message: int, address: str, report: NotedReport, mark: str
    ) -> bool:
        """Note what was reported about a message."""
        said = (report.kind, mark, report.code, report.note, report.at_ms)
        return await self.changes("suppress", "report_add", tenant, message, address, *said)

    async def reports_of(self, message: int) -> list[NotedReport]:
        """What was reported about a message."""
        rows = await self.select("suppress", "reports_of", message)
        return [NotedReport(ReportKind(row[0]), *row[1:]) for row in rows]

    async def soft_bounces(self, tenant: str, address: str, since_ms: int) -> tuple[int, int]:
        """A recipient's soft bounces, and the messages that they are about."""
        values = (tenant, address, since_ms)
        ((count, messages),) = await self.select("suppress", "report_soft_bounces", *values)
        return count, messages

    async def take_token(self, token: str, digest: str, now_ms: int) -> bool:
        """Note a callback's token; answers whether it is new, or came with this digest before."""
        if await self.changes("suppress", "token_take", token, digest, now_ms):
            return True
        return await self.first("suppress", "token_is", token, digest) is not None

    async def tokens_retain(self, before_ms: int) -> bool:
        """Delete a slice of old tokens."""
        return await self.changes("retain", "tokens_retain", before_ms, SLICE)

    async def reports_retain(self, before_ms: int) -> bool:
        """Delete a slice of old reports."""
        return await self.changes("retain", "reports_retain", before_ms, SLICE)


def _read(rows: Sequence[Row]) -> list[Suppression]:
    return [Suppression(row[0], row[1], Reason(row[2]), *row[3:]) for row in rows]


def _json(values: Any) -> str:
    return msgspec.json.encode(values).decode()
