"""What jobs give: results, and how far they have come."""

from collections.abc import Sequence

from msgspec.structs import astuple

from postroad.model.job_output import JobOutput, NamedOutput, OutputKind
from postroad.stores.sqlite.base import SqliteBase


class SqliteJobOutputs(SqliteBase):
    """Stores and reads what jobs give."""

    async def put_outputs(self, outputs: Sequence[JobOutput]) -> None:
        """Store them; the newest of a job and kind stands."""
        rows = [astuple(one) for one in outputs]
        await self.write("jobs", lambda db: db.many("output_put", rows))

    async def output_of(self, tenant: str | None, number: int, kind: OutputKind) -> bytes | None:
        """What a job gave, unless its time is over."""
        asked = (tenant, number, kind, self.clock.now_ms())
        row = await self.read("jobs", lambda db: db.one("output_of", *asked))
        return row[0] if row else None

    async def newest_progress(self, tenant: str | None, limit: int) -> list[NamedOutput]:
        """The progress of the jobs that reported last."""
        asked = (tenant, self.clock.now_ms(), limit)
        rows = await self.read("jobs", lambda db: db.all("outputs_newest", *asked))
        return [NamedOutput(*row) for row in rows]
