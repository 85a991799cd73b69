"""What jobs give: results, and how far they have come."""

from enum import IntEnum

from msgspec import Struct


class OutputKind(IntEnum):
    """What it is."""

    progress = 0
    result = 1


class JobOutput(Struct, frozen=True):
    """What a job gave, as JSON, and until when it is kept."""

    id: int
    kind: OutputKind
    queue: int
    ends_at_ms: int
    body: bytes


class NamedOutput(Struct, frozen=True):
    """What a job of a queue gave."""

    id: int
    tenant: str
    queue: str
    body: bytes
