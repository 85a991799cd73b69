"""Figures in buckets, read alike from SQLite and PostgreSQL."""

from postroad.model.rollup import GroupBy, Point, Span, point
from postroad.stores.statements import Statements


class RollupReader(Statements):
    """Reads figures."""

    async def rollups(self, span: Span) -> list[Point]:
        """Read buckets, summed up as the span says."""
        times = (span.step.seconds, span.since_ms, span.until_ms)
        if span.by is GroupBy.outcome:
            rows = await self.select("rollups", "rollups_whole", *times, span.tenant)
        else:
            named = (span.by, span.names, *times, span.tenant)
            rows = await self.select("rollups", "rollups", *named)
        return [point(at_ms, name, counts) for at_ms, name, *counts in rows]
