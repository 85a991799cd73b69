"""Retry ladders: how long a message waits before each next try."""

from typing import Final

from msgspec import Struct

from postroad.model.errors import BadInput

MINUTE_MS: Final = 60_000
YEAR_MS: Final = 365 * 24 * 60 * MINUTE_MS
RETRIES: Final = range(1_001)
JITTER: Final = 0.25


class Steps(Struct, frozen=True, tag="steps"):
    """Fixed delays, one a level; past the end the last one repeats. Level 0 is the first try,
    `retries` is how many more may follow."""

    retries: int
    delays_ms: tuple[int, ...]

    def delay_ms(self, level: int) -> int:
        """The wait before the try at this level, without jitter."""
        if level <= 0:
            return 0
        return self.delays_ms[min(level, len(self.delays_ms)) - 1]


class Exponential(Struct, frozen=True, tag="exponential"):
    """`2^n * base`: the first retry waits `base`, each next one twice as long."""

    retries: int
    base_ms: int
    cap_ms: int = 24 * 60 * MINUTE_MS

    def delay_ms(self, level: int) -> int:
        """The wait before the try at this level, without jitter."""
        if level <= 0:
            return 0
        # The exponent is bounded first: 2**n of a large level is a number nobody can hold.
        return min(self.cap_ms, self.base_ms << min(level - 1, 40))


Ladder = Steps | Exponential

DEFAULT_LADDER: Final = Steps(
    retries=6,
    delays_ms=tuple(minutes * MINUTE_MS for minutes in (1, 5, 10, 30, 60, 120)),
)
POLL_INTERVALS_S: Final = (5.0, 30.0, 120.0, 300.0, 900.0, 1800.0, 3600.0)
"""How often each level is asked while the bell is down: 889 queries an hour."""

LAST_POLLED_LEVEL: Final = len(POLL_INTERVALS_S) - 1
"""The last level with a poller, which serves all higher levels too."""


def check_ladder(ladder: object) -> Ladder:
    """Return the ladder; BadInput when it cannot be used."""
    if not isinstance(ladder, Ladder):
        raise BadInput(f"ladder={ladder!r}: give Steps(…) or Exponential(…)")
    if isinstance(ladder, Steps) and not isinstance(ladder.delays_ms, tuple | list):
        raise BadInput(
            f"ladder: delays_ms={ladder.delays_ms!r}: give a tuple of milliseconds, as (1000, 5000)"
        )
    waits_ms = ladder.delays_ms if isinstance(ladder, Steps) else (ladder.base_ms, ladder.cap_ms)
    if (
        ladder.retries not in RETRIES
        or not waits_ms
        or min(waits_ms) < 1
        or max(waits_ms) > YEAR_MS
    ):
        raise BadInput("ladder: give 0 to 1000 retries, and waits from 1 ms to a year")
    return ladder


def with_retries(ladder: Ladder, retries: int) -> Ladder:
    """Cut or lengthen the ladder to so many retries."""
    if type(retries) is not int or retries < 0:
        raise BadInput(f"retries={retries!r}: give a whole number, zero or more")
    if isinstance(ladder, Steps):
        return Steps(retries=retries, delays_ms=ladder.delays_ms)
    return Exponential(retries=retries, base_ms=ladder.base_ms, cap_ms=ladder.cap_ms)


def jittered_ms(delay_ms: int, draw: float) -> int:
    """The delay ± 25 %, by a draw from [0, 1): a burst of failures must not return as a burst."""
    return int(delay_ms * (1 - JITTER + 2 * JITTER * draw))


def queries_per_hour(intervals_s: tuple[float, ...] = POLL_INTERVALS_S) -> list[int]:
    """How many polls each level makes in an hour."""
    return [round(3600 / interval) for interval in intervals_s]
