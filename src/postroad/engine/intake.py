"""Intake: drafts that arrive together are stored together; accepted means stored."""

import asyncio

from postroad.model.errors import StoreError
from postroad.model.words import Accepted, Draft
from postroad.ports.store import Inbox


class Intake:
    """Gathers what concurrent senders bring in one turn of the loop into one transaction."""

    def __init__(self, store: Inbox) -> None:
        self._store = store
        self._drafts: list[Draft] = []
        self._waiting: list[asyncio.Future[Accepted]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, draft: Draft) -> "asyncio.Future[Accepted]":
        """Hand over; the answer comes when it is stored."""
        loop = asyncio.get_running_loop()
        if not self._drafts:
            loop.call_soon(self._flush)
        answer: asyncio.Future[Accepted] = loop.create_future()
        self._drafts.append(draft)
        self._waiting.append(answer)
        return answer

    def _flush(self) -> None:
        if not self._drafts:
            return
        drafts, self._drafts = self._drafts, []
        waiting, self._waiting = self._waiting, []
        task = asyncio.get_running_loop().create_task(self._store_all(drafts, waiting))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _store_all(
        self, drafts: list[Draft], waiting: "list[asyncio.Future[Accepted]]"
    ) -> None:
        try:
            answers = await self._store.accept(drafts)
        except Exception as error:  # noqa: BLE001 - handed to those who wait
            if len(drafts) > 1 and not isinstance(error, StoreError):
                # One of them cannot be stored at all: its neighbours must not suffer for it.
                for draft, future in zip(drafts, waiting, strict=True):
                    await self._store_all([draft], [future])
                return
            for future in waiting:
                if not future.done():
                    future.set_exception(error)
            return
        for future, answer in zip(waiting, answers, strict=True):
            if not future.done():
                future.set_result(answer)
