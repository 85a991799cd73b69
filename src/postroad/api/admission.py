"""Admission to the intake: what cannot be stored in time is refused, with a time to come back."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from postroad.model.errors import Crowded, Overloaded
from postroad.observe.metrics import Meter

T = TypeVar("T")
STORE_WAIT_S: Final = 5.0
"""What is not stored within this time is refused."""


class IntakeAdmission:
    """Limits the messages that wait to be stored. One tenant may have half of the capacity."""

    def __init__(self, meter: Meter, most: int, wait_s: float = STORE_WAIT_S) -> None:
        self._meter = meter
        self._most = most
        self._wait_s = wait_s
        self.waiting: Counter[str] = Counter()

    async def store(self, tenant: str, count: int, work: Coroutine[Any, Any, T]) -> T:
        """Await the work of storing, within its time limit."""
        try:
            self._admit(tenant, count)
        except Overloaded:
            work.close()
            self._meter.shed(count)
            raise
        self.waiting[tenant] += count
        try:
            async with asyncio.timeout(self._wait_s):
                return await work
        except TimeoutError:
            self._meter.shed(count)
            raise Overloaded(
                f"not stored within {self._wait_s:g} s, and it may be stored yet: send it again "
                "later with the same key"
            ) from None
        finally:
            self.waiting[tenant] -= count
            if not self.waiting[tenant]:
                del self.waiting[tenant]

    def _admit(self, tenant: str, count: int) -> None:
        if self.waiting.total() + count > self._most and self.waiting:
            raise Overloaded("too many messages wait to be stored: nothing of yours was; try later")
        if self.waiting[tenant] + count > self._most // 2 and self.waiting[tenant]:
            raise Crowded("too many messages of yours wait to be stored: try again later")
