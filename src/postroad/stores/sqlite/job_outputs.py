"""What jobs give: results, and how far they have come."""

from collections.abc import Sequence

from msgspec.structs import astuple

from postroad.model.job_output import JobOutput, OutputKind, RunningOutput
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

    async def running_outputs(self, tenant: str, looked_at: int) -> list[RunningOutput]:
        """Return the jobs that still run among the latest reports of progress of a tenant."""
        asked = (tenant, self.clock.now_ms(), looked_at)
        rows = await self.read("jobs", lambda db: db.all("outputs_of_running", *asked))
        return [RunningOutput(*row) for row in rows]

    async def failures_of(self, tenant: str | None, number: int) -> list[bytes]:
        """What the tries of a job raised, the first one first, as long as it is kept."""
        asked = (tenant, number, self.clock.now_ms())
        rows = await self.read("jobs", lambda db: db.all("failures_of", *asked))
        return [row[0] for row in rows]
