"""Begins erasures, and works at them in this process."""

import asyncio
from typing import Final

from postroad.engine.erasing import run_erasures
from postroad.model.errors import StoreError, UnknownErasure
from postroad.model.privacy import Erasure, Subject
from postroad.observe.tasks import Tasks
from postroad.ports.log import Log
from postroad.ports.store import Store

RETRY_S: Final = 5.0


class ErasureWork:
    """The erasures that were asked for here. Any process that delivers goes on with them, too."""

    def __init__(self, store: Store, log: Log) -> None:
        self._store = store
        self._log = log
        self.tasks = Tasks(log)
        self._task: asyncio.Task[None] | None = None

    async def begin(self, subject: Subject, asked_at_ms: int) -> Erasure:
        """Store a job that erases what was sent until a time, and start to work at it."""
        number = await self._store.erasure_add(subject, asked_at_ms)
        if self._task is None or self._task.done():
            self._task = self.tasks.start(self._work(), "erasing")
        return await self.find(number, None)

    async def find(self, number: int, tenant: str | None) -> Erasure:
        """How far an erasure of a tenant, or of any (None), is."""
        found = await self._store.erasure_page(tenant, number, 0, 1)
        if not found:
            raise UnknownErasure(f"there is no erasure {number}: see `postroad privacy list`")
        return found[0]

    async def _work(self) -> None:
        while True:
            try:
                await run_erasures(self._store, self._log)
            except StoreError as error:
                self._log.warning("erasing waits for the store", error=str(error))
                await self._store.clock.sleep(RETRY_S)
            else:
                return
