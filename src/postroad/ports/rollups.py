"""Figures of the fleet in the store: rollups, and who works."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.rollup import Point, Rollup, Span, Worker


@runtime_checkable
class Rollups(Protocol):
    """Keeps counts in buckets, and knows which processes deliver."""

    async def add_rollups(self, rollups: Sequence[Rollup]) -> None:
        """Add counts to their buckets, in one transaction."""

    async def rollups(self, span: Span) -> list[Point]:
        """Read buckets in order of time, summed up as the span says."""

    async def workers(self) -> list[Worker]:
        """List the processes that deliver, and those that were lost within the last day."""
