"""Suppression lists: what both databases do alike."""

from collections.abc import Sequence
from typing import Any

import msgspec

from postroad.model.states import NEVER
from postroad.model.suppression import Reason, Suppression, SuppressionFilter, erased_form
from postroad.stores.statements import Row, Statements


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


def _read(rows: Sequence[Row]) -> list[Suppression]:
    return [Suppression(row[0], row[1], Reason(row[2]), *row[3:]) for row in rows]


def _json(values: Any) -> str:
    return msgspec.json.encode(values).decode()
