"""Recaller: takes messages that are to be cancelled out of the store."""

import asyncio
from collections.abc import Callable
from typing import Final

from postroad.engine.lane_worker import LaneWorker
from postroad.model.errors import StoreError
from postroad.ports.log import Log
from postroad.ports.store import Store

SLICE: Final = 500
"""Messages taken out by one transaction: others write between two of them."""


class Recaller:
    """Only the owner of a lane may cancel its messages: it alone knows which have started."""

    def __init__(
        self,
        store: Store,
        owner: int,
        log: Log,
        after: Callable[[LaneWorker], None],
        stop: Callable[[LaneWorker, int], None],
    ) -> None:
        self._store = store
        self._owner = owner
        self._log = log
        self._after = after
        self._stop = stop
        self._waiting: dict[LaneWorker, dict[int, bool]] = {}
        """The messages, and whether their running tries are to be stopped."""
        self._work = asyncio.Event()

    def recall(self, worker: LaneWorker, number: int, *, stop: bool = False) -> None:
        """A message of this lane is to be cancelled; until it is taken out it may start. With
        `stop` its running try is stopped."""
        numbers = self._waiting.setdefault(worker, {})
        numbers[number] = stop or numbers.get(number, False)
        self._work.set()

    async def run(self) -> None:
        """Take messages out of the store, for as long as the engine lives."""
        while True:
            await self._work.wait()
            self._work.clear()
            await self._withdraw_all()  # not here: variables would keep the last worker

    async def _withdraw_all(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for worker, numbers in waiting.items():
            listed = list(numbers)
            for start in range(0, len(listed), SLICE):
                await self._withdraw(worker, listed[start : start + SLICE])
            for number in [number for number, stop in numbers.items() if stop]:
                if worker.open_messages.on_last_try(number):
                    self._stop(worker, number)

    async def _withdraw(self, worker: LaneWorker, asked: list[int]) -> None:
        numbers = worker.recall(asked)
        if not numbers:
            return
        try:
            # False: the lane was lost, and they with it.
            _ = await self._store.withdraw(self._owner, worker.lane, numbers)
        except StoreError as error:
            # The caller asks again; until then they may start.
            self._log.store_failed("cancel messages", error)
        worker.withdrawn(numbers)
        self._after(worker)
