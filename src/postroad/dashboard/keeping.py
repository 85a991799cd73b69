"""What is shown to many is made once, and kept for a moment."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final

from msgspec import Struct

from postroad.ports.clock import Clock

KEPT_MAX: Final = 500


class KeptValue(Struct):
    """Something, and until when it is good enough."""

    lock: asyncio.Lock
    value: Any = None
    until_s: float = 0.0


class Keeper:
    """Makes what is asked for, and keeps each for as long as its maker says."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[Hashable, KeptValue] = OrderedDict()
        self._changes = 0

    async def get(self, key: Hashable, make: Callable[[], Awaitable[tuple[Any, float]]]) -> Any:
        """What is kept under a key, or else what `make` gives, with the seconds to keep it. All who
        ask meanwhile wait for the one that makes it."""
        kept = self._kept.pop(key, None) or KeptValue(asyncio.Lock())
        self._kept[key] = kept
        while len(self._kept) > KEPT_MAX:
            self._kept.popitem(last=False)
        async with kept.lock:
            if self._clock.steady_s() >= kept.until_s:
                changes = self._changes
                kept.value, keep_s = await make()
                # What changed meanwhile may be missing in it: then it is made anew.
                kept.until_s = self._clock.steady_s() + keep_s if changes == self._changes else 0.0
        return kept.value

    def forget(self) -> None:
        """Make everything anew: something was changed here."""
        self._changes += 1
        for kept in self._kept.values():
            kept.until_s = 0.0
