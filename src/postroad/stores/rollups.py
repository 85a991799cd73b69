"""Figures in buckets, read alike from SQLite and PostgreSQL."""

from postroad.model.rollup import Point, Span, point
from postroad.stores.statements import Statements


class RollupReader(Statements):
    """Reads figures."""

    async def rollups(self, span: Span) -> list[Point]:
        """Read buckets, summed up as the span says."""
        times = (span.step.seconds, span.since_ms, span.until_ms)
        values = (span.by, span.names, *times, span.tenant)
        rows = await self.select("rollups", "rollups", *values)
        return [point(at_ms, name, counts) for at_ms, name, *counts in rows]
