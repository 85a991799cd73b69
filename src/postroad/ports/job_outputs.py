"""Stores and reads what jobs give: results, and how far they have come."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.job_output import JobOutput, OutputKind, RunningOutput


@runtime_checkable
class JobOutputs(Protocol):
    """Stores and reads what jobs give. Results are stored with the record of their messages."""

    async def put_outputs(self, outputs: Sequence[JobOutput]) -> None:
        """Store them; the newest of a job and kind stands."""

    async def output_of(self, tenant: str | None, number: int, kind: OutputKind) -> bytes | None:
        """Return what a job gave, unless its time is over; None as tenant is every one."""

    async def running_outputs(self, tenant: str, looked_at: int) -> list[RunningOutput]:
        """Return the jobs that still run among the latest reports of progress of a tenant."""

    async def failures_of(self, tenant: str | None, number: int) -> list[bytes]:
        """What the tries of a job raised, the first one first, as long as it is kept."""
