"""Which delay queues a wait is walked through. Pure.

Delay queue k holds everything for 2^k units. A wait is cut to whole units, and its rest, less than
one, is waited out in the memory of who gets the message: rounded up, a wait of 1.3 s over two hops
was 352 ms late. Then it is rounded up to five significant bits (at most 1/16 = 6.25 % late; four
bits would be up to 12.5 %), and goes through the queues of its set bits, the longest first: a power
of two takes one hop, no wait more than five.
"""

from typing import Final

UNIT_MS: Final = 250
SNAP_MS: Final = 25
"""What is so little short of a whole unit is one: a retry's wait is some ms old when it is sent."""
LEVELS: Final = 21
"""Delay queues 0 to 20: 250 ms to three days."""
BITS: Final = 5
UNITS_MAX: Final = ((1 << BITS) - 1) << (LEVELS - BITS)
"""The longest walk, six days; what is not due then goes round again."""


def walk(wait_ms: int) -> tuple[int, ...]:
    """The delay queues for a wait, at most a unit shorter than it, the longest first; none for a
    wait that is shorter itself."""
    units = min(max(0, wait_ms + SNAP_MS) // UNIT_MS, UNITS_MAX)
    republish = max(0, units.bit_length() - BITS)
    return _bits(-(-units >> republish) << republish)


def walk_within(wait_ms: int) -> tuple[int, ...]:
    """The delay queues for a wait that is not to be passed: what remains is waited for again, by
    who gets the message. None when it is shorter than a unit."""
    units = min(max(0, wait_ms) // UNIT_MS, UNITS_MAX)
    republish = max(0, units.bit_length() - BITS)
    return _bits(units >> republish << republish)


def walked_ms(hops: tuple[int, ...]) -> int:
    """How long a walk takes."""
    return sum(UNIT_MS << hop for hop in hops)


def key(hops: tuple[int, ...], target: str) -> str:
    """The routing key of a walk: `d12.d9.to.shard.3`. Each queue's end finds the next hop by it."""
    return ".".join([*(f"d{hop}" for hop in hops), "to", target])


def _bits(units: int) -> tuple[int, ...]:
    return tuple(bit for bit in reversed(range(LEVELS)) if units >> bit & 1)
