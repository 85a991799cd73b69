"""Recaller: takes messages that are to be cancelled out of the lanes that own them."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from postroad.engine.lane_worker import LaneWorker
from postroad.model.entities import Message
from postroad.model.errors import StoreError
from postroad.ports.log import Log
from postroad.ports.store import Store

SLICE: Final = 500
"""Messages taken out by one transaction: others write between two of them."""


class Recaller:
    """A message may only be cancelled by its lane's owner: it alone knows what has started."""

    def __init__(
        self,
        store: Store,
        owner: int,
        log: Log,
        after: Callable[[LaneWorker], None],
    ) -> None:
        self._store = store
        self._owner = owner
        self._log = log
        self._after = after
        self._waiting: dict[LaneWorker, dict[int, None]] = {}
        self._work = asyncio.Event()

    def recall(self, worker: LaneWorker, number: int) -> None:
        """A message of this lane is to be cancelled; until it is taken out it may start."""
        self._waiting.setdefault(worker, {})[number] = None
        self._work.set()

    async def run(self) -> None:
        """Withdraw, for as long as the engine lives."""
        while True:
            await self._work.wait()
            self._work.clear()
            waiting, self._waiting = self._waiting, {}
            for worker, numbers in waiting.items():
                listed = list(numbers)
                for start in range(0, len(listed), SLICE):
                    await self._withdraw(worker, listed[start : start + SLICE])

    async def _withdraw(self, worker: LaneWorker, asked: list[int]) -> None:
        numbers = recall(worker, asked)
        if not numbers:
            return
        try:
            # False: the lane went, and they with it.
            _ = await self._store.withdraw(self._owner, worker.lane, numbers)
        except StoreError as error:
            # Whoever asked asks again; until then they may start.
            self._log.warning("nothing could be cancelled", error=str(error))
        for number in numbers:  # gone from the store, or never ours to take
            worker.open_messages.withdrawn(number)
            worker.cache.put_down(number, 0, 0)
        for rung in worker.cache.rungs.values():
            rung.ghost(*numbers)  # a reading that is under way may still show them
        # The store may have failed, and they lie before the cursor.
        worker.cache.look_from(0, whole=True)
        self._after(worker)


def recall(worker: LaneWorker, numbers: Iterable[int]) -> list[int]:
    """Messages are to be cancelled: answers those that can be taken out of the store now, and will
    not start; of each other one the present try is the last."""
    taken: list[int] = []
    for number in numbers:
        found = worker.open_messages.recall(number)
        if not found:
            continue
        if isinstance(found, Message):
            worker.cache.rungs[found.rung].busy = False
        taken.append(number)
    worker.cache.withdraw(frozenset(taken))
    return taken
