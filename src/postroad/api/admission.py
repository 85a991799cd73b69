"""Admission to the intake: what cannot be stored in time is refused, with a time to come back."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from postroad.model.errors import Crowded, DiskFull, Overloaded
from postroad.observe.metrics import Meter

T = TypeVar("T")
STORE_WAIT_S: Final = 5.0
"""What is not stored within this time is refused."""
FULL_S: Final = 5.0
"""So long after a refusal for lack of room no small write is believed to prove room for others."""
SAFE: Final = "send it again later with the same key"
UNSAFE: Final = "sent again it may arrive twice, since a road on RabbitMQ takes no key"


class IntakeAdmission:
    """Limits the messages that wait to be stored. One tenant may have half of the capacity."""

    def __init__(
        self, meter: Meter, most: int, wait_s: float = STORE_WAIT_S, *, keyed: bool = True
    ) -> None:
        self._meter = meter
        self._most = most
        self._wait_s = wait_s
        self._again = SAFE if keyed else UNSAFE
        self.waiting: Counter[str] = Counter()
        self.full_s: float | None = None
        """When the store last refused messages for lack of room, by the loop's clock; None once it
        has taken some."""

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
                stored = await work
        except DiskFull:
            self.full_s = asyncio.get_running_loop().time()
            raise
        except TimeoutError:
            self._meter.shed(count)
            raise Overloaded(
                f"not stored within {self._wait_s:g} s, and it may be stored yet: {self._again}"
            ) from None
        else:
            self._took(stored)
            return stored
        finally:
            self.waiting[tenant] -= count
            if not self.waiting[tenant]:
                del self.waiting[tenant]

    @property
    def just_full(self) -> bool:
        """Whether the store has refused messages for lack of room a moment ago."""
        now_s = asyncio.get_running_loop().time()
        return self.full_s is not None and now_s < self.full_s + FULL_S

    def _took(self, stored: object) -> None:
        """Note whether there is room; batches are answered message by message."""
        answers = stored if isinstance(stored, list) else [stored]
        refused = any(isinstance(each, DiskFull) for each in answers)
        self.full_s = asyncio.get_running_loop().time() if refused else None

    def _admit(self, tenant: str, count: int) -> None:
        if self.waiting.total() + count > self._most and self.waiting:
            raise Overloaded("too many messages wait to be stored: nothing of yours was; try later")
        if self.waiting[tenant] + count > self._most // 2 and self.waiting[tenant]:
            raise Crowded("too many messages of yours wait to be stored: try again later")
