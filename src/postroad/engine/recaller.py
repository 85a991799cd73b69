"""Recaller: takes messages that are to be cancelled out of the lanes that own them."""

import asyncio
from collections.abc import Callable

from postroad.engine.lane import LaneWorker
from postroad.model.errors import StoreError
from postroad.model.words import Message
from postroad.ports.log import Log
from postroad.ports.store import Store


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
        self._waiting: dict[LaneWorker, list[int]] = {}
        self._work = asyncio.Event()

    def recall(self, worker: LaneWorker, number: int) -> None:
        """A message of this lane is to be cancelled."""
        if recall(worker, number):
            self._waiting.setdefault(worker, []).append(number)
            self._work.set()

    async def run(self) -> None:
        """Withdraw, for as long as the engine lives."""
        while True:
            await self._work.wait()
            self._work.clear()
            await self._withdraw_all()

    async def _withdraw_all(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for worker, numbers in waiting.items():
            try:
                # False: the lane went, and they with it.
                _ = await self._store.withdraw(self._owner, worker.lane, numbers)
            except StoreError as error:
                # Whoever asked asks again; until then they may start.
                self._log.warning("nothing could be cancelled", error=str(error))
            for number in numbers:  # gone from the store, or never ours to take
                worker.hand.withdrawn(number)
                worker.ahead.put_down(number, 0, 0)
                for rung in worker.ahead.rungs.values():
                    rung.ghost(number)  # a reading that is under way may still show it
            # The store may have failed, and they lie before the cursor.
            worker.ahead.look_from(0, whole=True)
            self._after(worker)


def recall(worker: LaneWorker, number: int) -> bool:
    """A message is to be cancelled: True when it can be taken out of the store now, and will not
    start; else its present try is the last one."""
    found = worker.hand.recall(number)
    if not found:
        return False
    if isinstance(found, Message):
        worker.ahead.rungs[found.rung].busy = False
    worker.ahead.withdraw(number)
    return True
