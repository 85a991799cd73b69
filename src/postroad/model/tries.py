"""The log of a message's tries."""

from msgspec import Struct

from postroad.model.outcome import Kind


class TryFacts(Struct, frozen=True):
    """When a try was, at which level, what it gave, how long it took. One that was lost with its
    process has no known start: 0."""

    number: int
    started_at_ms: int
    level: int
    outcome: Kind
    status: int
    took_ms: int


class Try(TryFacts, frozen=True):
    """One try."""

    error: str = ""
