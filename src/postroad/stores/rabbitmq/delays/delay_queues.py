"""Which delay queues a message passes to wait for a given time. Pure functions.

Delay queue k holds every message for 2^k units. A wait is rounded down to whole units; the worker
that gets the message waits for the rest, in memory. (Rounded up, a wait of 1.3 s over two queues
was 352 ms late.) Then the units are rounded up to five significant bits, so that a wait is at most
1/16 = 6.25 % late; four bits would be up to 12.5 %. The message passes the queues of the set bits,
the longest first: a power of two takes one queue, no wait takes more than five.
"""

from typing import Final

UNIT_MS: Final = 250
SNAP_MS: Final = 25
"""A wait this much short of a whole unit counts as one: some ms pass before a retry is sent."""
LEVELS: Final = 21
"""Delay queues 0 to 20: 250 ms to three days."""
BITS: Final = 5
UNITS_MAX: Final = ((1 << BITS) - 1) << (LEVELS - BITS)
"""The longest wait in one pass, six days; a message that is not due then passes again."""


def walk(wait_ms: int) -> tuple[int, ...]:
    """The delay queues for a wait, the longest first. They are at most a unit too short; a wait
    below one unit has none."""
    units = min(max(0, wait_ms + SNAP_MS) // UNIT_MS, UNITS_MAX)
    shift = max(0, units.bit_length() - BITS)
    return _bits(-(-units >> shift) << shift)


def walk_within(wait_ms: int) -> tuple[int, ...]:
    """The delay queues for a wait that must not be exceeded, none below one unit. The process that
    gets the message waits for the rest."""
    units = min(max(0, wait_ms) // UNIT_MS, UNITS_MAX)
    shift = max(0, units.bit_length() - BITS)
    return _bits(units >> shift << shift)


def key(hops: tuple[int, ...], target: str) -> str:
    """The routing key, such as `d12.d9.to.shard.3`. Each delay queue's exchange finds the next one
    by it."""
    return ".".join([*(f"d{hop}" for hop in hops), "to", target])


def _bits(units: int) -> tuple[int, ...]:
    return tuple(bit for bit in reversed(range(LEVELS)) if units >> bit & 1)
