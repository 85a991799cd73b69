"""Poison: messages that cannot be read, or that take their process with them each time."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

COUNT: Final = "x-delivery-count"
ALONE_FROM: Final = 2
"""Delivered so often without an end: suspected, but so is everything that was prefetched beside
it."""
STARTS_MAX: Final = 3
"""Noted starts without an end. The first two deliveries are not noted: dead at the fifth."""


class Trust(Enum):
    """How a delivery may be started."""

    free = "free"
    """Beside others."""
    alone = "alone"
    """One at a time in this process, its start noted in the state store first."""
    dead = "dead"
    """Not again: dead, `crash_loop`."""


def delivery_count(headers: Mapping[str, object] | None) -> int:
    """How often the broker has taken this message back from a consumer."""
    count = (headers or {}).get(COUNT, 0)
    return count if isinstance(count, int) and count > 0 else 0


def judge(count: int, starts: int) -> Trust:
    """By its returns alone a message is only suspected: its neighbours in the prefetch have as
    many. It is dead for its own noted starts."""
    if starts >= STARTS_MAX:
        return Trust.dead
    return Trust.alone if count >= ALONE_FROM or starts else Trust.free
