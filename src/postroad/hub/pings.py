"""Pings and pongs of the other side: each ping is answered, and a flood ends the connection."""

from typing import Final

SPAN_S: Final = 1.0
FLOOD: Final = 100
"""Maximum pings in a second. Each costs 2 to 9 µs and 6 bytes: when all were read as they came,
those of one client without a token held up the loop for 0.9 s at a time (decision 045)."""


class Pings:
    """Counts the pings and pongs of one connection."""

    __slots__ = ("_count", "_since_s")

    def __init__(self) -> None:
        self._since_s = -SPAN_S
        self._count = 0

    def are_too_many(self, now_s: float) -> bool:
        """Count one more; whether that makes a flood."""
        if now_s - self._since_s >= SPAN_S:
            self._since_s, self._count = now_s, 0
        self._count += 1
        return self._count > FLOOD
