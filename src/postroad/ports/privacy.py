"""What erasing and exporting need of a store."""

from collections.abc import Sequence
from typing import Protocol

from postroad.model.control import CancelSlice, CancelState, Cursor, MessageFilter
from postroad.model.privacy import Erasure, ErasureJob, Subject

Exported = dict[str, object]
"""A row of an export by the names of its columns."""


class PrivacyStore(Protocol):
    """Finds and deletes all that is stored about a tenant or a recipient."""

    async def erasure_add(self, subject: Subject, now_ms: int) -> int:
        """Store a new job; returns its number."""

    async def erasure_page(
        self, tenant: str | None, number: int, after: int, limit: int
    ) -> Sequence[Erasure]:
        """List jobs of a tenant or of all (None), the newest first; `number` names one, 0 all."""

    async def erasures_waiting(self) -> Sequence[ErasureJob]:
        """List the oldest jobs that are not done."""

    async def erasure_waits(self, number: int, count: int) -> None:
        """Note how many tries a job waits for."""

    async def erasure_cancel(self, which: MessageFilter, after: Cursor, limit: int) -> CancelSlice:
        """Cancel the next waiting messages that are meant, or ask the owners of their lanes."""

    async def erasure_cancel_ids(self, tenant: str, ids: Sequence[int]) -> dict[int, CancelState]:
        """Cancel these messages, or ask the owners of their lanes; where messages are in a broker,
        only those that are not."""

    async def erasure_cancelled(self, number: int, now_ms: int) -> None:
        """Begin the next step if no message from before the job is left."""

    async def erasure_retain(self, before_ms: int) -> None:
        """Delete jobs that ended before a time."""

    async def erase_slice(self, number: int) -> Erasure | None:
        """Do the next part of a job in one transaction; None when somebody else does just now, or
        it is done."""

    async def export_page(
        self, kind: str, subject: Subject, after: tuple[int, int], limit: int
    ) -> tuple[list[Exported], tuple[int, int] | None]:
        """Read a page of rows of a kind, and where the next one begins; None after the last."""
