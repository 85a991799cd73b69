"""What jobs give: results, what they raised, and how far they have come."""

from enum import IntEnum

from msgspec import Struct


class OutputKind(IntEnum):
    """What it is."""

    progress = 0
    result = 1


def failure_kind(attempt: int) -> int:
    """Below zero: what a try raised, by its number."""
    return -attempt


class RunningOutput(Struct, frozen=True):
    """The latest progress of a job that has not ended, and how many of its tries are recorded."""

    id: int
    queue: str
    attempts: int
    body: bytes


class JobOutput(Struct, frozen=True):
    """What a job gave, as JSON, and until when it is kept. `kind`: one of OutputKind, or that of a
    failure."""

    id: int
    kind: int
    queue: int
    ends_at_ms: int
    body: bytes
