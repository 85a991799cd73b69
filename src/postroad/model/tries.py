"""The log of a message's tries."""

from msgspec import Struct

from postroad.model.outcome import Kind


class Try(Struct, frozen=True):
    """One try: when, at which level, what it gave, how long it took. A try that was lost with
    its process has no known start: 0."""

    number: int
    started_at_ms: int
    level: int
    outcome: Kind
    status: int
    took_ms: int
    error: str
