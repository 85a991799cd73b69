"""Waiting for an end that the bell tells of: of a message, or of a batch."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from postroad.model.durations import CENTURY_S, Duration, seconds_of
from postroad.model.errors import BadInput
from postroad.ports.store import Store

LOOK_S: Final = 60.0
"""Who waits looks again after so long: a ring may be lost, and an erasure rings for nobody. Every
5 s, a thousand who wait asked the store 200 times a second."""
SOON_S: Final = 0.25
"""The second look: it may have ended before another process knew that it is waited for."""
LOOK_DEAF_S: Final = 1.0
"""The same while the bell is down."""
T = TypeVar("T")


def wait_s(timeout: Duration | None) -> float:
    """How many seconds to wait; BadInput if that is no time."""
    seconds = CENTURY_S if timeout is None else seconds_of(timeout)
    if not seconds >= 0:
        raise BadInput(f"timeout={timeout!r}: give seconds or a timedelta, not a negative one")
    return min(seconds, CENTURY_S)


async def until_ended(
    store: Store,
    number: int,
    until_s: float,
    look: Callable[[], Awaitable[T]],
    ended: Callable[[T], bool],
) -> T:
    """Look until a message or batch has ended, or until a time, and return what was seen last. The
    store is asked when the bell rings for it, and seldom otherwise."""
    clock, bell, look_s = store.clock, store.bell, SOON_S
    with bell.waiting(number) as rung:
        while True:
            rung.clear()
            found = await look()
            left_s = until_s - clock.steady_s()
            if ended(found) or left_s <= 0:
                return found
            bell.want(number)
            await _pause(store, rung, min(left_s, look_s))
            look_s = LOOK_S


async def _pause(store: Store, rung: asyncio.Event, left_s: float) -> None:
    """Wait for the bell, at most so long."""
    look_s = left_s if store.bell.alive else min(left_s, LOOK_DEAF_S)
    timer = store.clock.later(round(look_s * 1000) + 1, rung.set)
    try:
        # Either way the store is asked again.
        _ = await rung.wait()
    finally:
        timer.cancel()
