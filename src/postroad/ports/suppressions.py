"""Suppression lists in the store."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.mail_report import NotedReport
from postroad.model.suppression import Reason, Suppression, SuppressionFilter


class SuppressionLists(Protocol):
    """Keeps who is not sent to: a list of each tenant, and one that holds for all."""

    async def suppress(self, entries: Sequence[Suppression]) -> int:
        """Add entries in one statement, on the disk; returns how many are new. One that is there
        for the same reason stays as it is."""

    async def suppressed(self, tenant: str, recipients: Sequence[str]) -> dict[str, Reason]:
        """Return those of the recipients that are on the tenant's list or on that of all, each with
        its strongest reason; one statement for all of them."""

    async def suppression_page(
        self, tenant: str, which: SuppressionFilter, after: int, limit: int
    ) -> list[Suppression]:
        """Read entries of one list, the newest first; `after` is the id of the last one seen."""

    async def unsuppress(self, tenant: str, recipient: str, reason: str) -> int:
        """Take a recipient off a list, for one reason or (empty) for all; returns how many entries
        went."""

    async def add_report(
        self, tenant: str, message: int, address: str, report: NotedReport, mark: str
    ) -> bool:
        """Note what was reported about a message, on the disk; False if that is known. `address` is
        its recipient as lists are searched by it, `mark` names the report."""

    async def reports_of(self, message: int) -> list[NotedReport]:
        """Return what was reported about a message, in order."""

    async def soft_bounces(self, tenant: str, address: str, since_ms: int) -> tuple[int, int]:
        """Count a recipient's soft bounces since a time and since its last delivery, and the
        messages that they are about."""

    async def take_token(self, token: str, digest: str, now_ms: int) -> bool:
        """Note the token of a callback with the digest of its body, on the disk; False if it came
        with another one before."""

    async def tokens_retain(self, before_ms: int) -> bool:
        """Delete a slice of the tokens from before a time; False when there was none."""

    async def reports_retain(self, before_ms: int) -> bool:
        """Delete a slice of the reports from before a time; False when there was none."""
