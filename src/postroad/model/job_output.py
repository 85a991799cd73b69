"""What jobs give: results, and how far they have come."""

from enum import IntEnum

from msgspec import Struct


class OutputKind(IntEnum):
    """What it is."""

    progress = 0
    result = 1


class RunningOutput(Struct, frozen=True):
    """The latest progress of a job that has not ended, and how many of its tries are recorded."""

    id: int
    tenant: str
    queue: str
    attempts: int
    body: bytes


class JobOutput(Struct, frozen=True):
    """What a job gave, as JSON, and until when it is kept."""

    id: int
    kind: OutputKind
    queue: int
    ends_at_ms: int
    body: bytes
