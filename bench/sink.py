"""The receiving end of ours: numbers go in at one side and are kept at the other."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from postroad import Postroad

SENDERS = 8
BATCH = 100


class Sink:
    """Sends numbered messages to queues in turn, and keeps the numbers that arrive."""

    def __init__(self, queues: Sequence[str]) -> None:
        self._queues = queues
        self.accepted = 0
        self.received: list[int] = []
        self._expected = -1
        self._all = asyncio.Event()

    def take(self, number: int) -> None:
        """One has arrived."""
        self.received.append(number)
        if len(self.received) == self._expected:
            self._all.set()

    async def send_many(self, road: Postroad, count: int) -> None:
        """Hand over the next numbers."""
        first = self.accepted
        self.accepted += count
        queues, wheel = self._queues, len(self._queues)
        await road.send_many([(queues[n % wheel], n) for n in range(first, first + count)])

    async def send_until(self, road: Postroad, end_s: float) -> None:
        """Eight senders with `send_many` of 100, until a time."""

        async def sender() -> None:
            while time.perf_counter() < end_s:
                await self.send_many(road, BATCH)

        await asyncio.gather(*[sender() for _ in range(SENDERS)])

    async def has_all(self) -> None:
        """Wait until all that was accepted has arrived."""
        self._all.clear()
        self._expected = self.accepted
        if len(self.received) < self._expected:
            await self._all.wait()

    @property
    def distinct(self) -> int:
        """How many arrived; one that came twice makes the counts differ."""
        twice = len(self.received) - len(set(self.received))
        return len(self.received) - 2 * twice


def delivered_in(path: Path) -> tuple[int, int]:
    """What a road's reopened file says: messages delivered, messages that still wait."""
    file = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        ((delivered,),) = file.execute("select count(*) from history where state = 'delivered'")
        ((waiting,),) = file.execute("select count(*) from message")
    finally:
        file.close()
    return int(delivered), int(waiting)
