"""What jobs give: results, and how far they have come."""

from collections.abc import Sequence

from postroad.model.job_output import JobOutput, OutputKind, RunningOutput
from postroad.stores.postgres.base import PostgresBase


class PostgresJobOutputs(PostgresBase):
    """Stores and reads what jobs give."""

    async def put_outputs(self, outputs: Sequence[JobOutput]) -> None:
        """Store them; the newest of a job and kind stands."""
        self._check_open()
        # It gives no rows.
        _ = await self._side.rows("jobs", "outputs_put", output_columns(outputs))

    async def output_of(self, tenant: str | None, number: int, kind: OutputKind) -> bytes | None:
        """What a job gave, unless its time is over."""
        self._check_open()
        rows = await self._side.rows("jobs", "output_of", (tenant, number, kind))
        return bytes(rows[0][0]) if rows else None

    async def running_outputs(self, tenant: str, looked_at: int) -> list[RunningOutput]:
        """Return the jobs that still run among those with a tenant's latest progress reports."""
        self._check_open()
        rows = await self._side.rows("jobs", "outputs_of_running", (tenant, looked_at))
        return [RunningOutput(*row) for row in rows]

    async def failures_of(self, tenant: str | None, number: int) -> list[bytes]:
        """What the tries of a job raised, the first one first, as long as it is kept."""
        self._check_open()
        rows = await self._side.rows("jobs", "failures_of", (tenant, number))
        return [row[0] for row in rows]


def output_columns(outputs: Sequence[JobOutput]) -> tuple[list[object], ...]:
    """The columns of `outputs_put`; none where there is nothing to put."""
    if not outputs:
        return ()
    return (
        [one.id for one in outputs],
        [one.kind for one in outputs],
        [one.queue for one in outputs],
        [one.ends_at_ms for one in outputs],
        [one.body for one in outputs],
    )
