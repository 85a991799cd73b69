"""Intake: drafts that arrive together are stored together; accepted means stored."""

import asyncio
from collections.abc import Sequence
from typing import Final

from postroad.model.entities import Accepted, Draft
from postroad.model.errors import QueueGone, StoreError
from postroad.ports.store import Inbox

Answers = asyncio.Future[list[Accepted]]
ALONE: Final = 250
"""A batch of so many is stored at once: a store with two writers takes the next one meanwhile."""


class Intake:
    """Gathers what concurrent senders bring in one turn of the loop into one transaction."""

    def __init__(self, store: Inbox) -> None:
        self._store = store
        self._waiting: list[tuple[Sequence[Draft], Answers]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, drafts: Sequence[Draft]) -> Answers:
        """Hand over drafts; the answers come when all of them are stored, or none."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush)
        answers: Answers = loop.create_future()
        self._waiting.append((drafts, answers))
        if len(drafts) >= ALONE:
            self._flush()
        return answers

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        task = asyncio.get_running_loop().create_task(self._store_all(waiting))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _store_all(self, waiting: list[tuple[Sequence[Draft], Answers]]) -> None:
        try:
            answers = await self._store.accept([draft for drafts, _ in waiting for draft in drafts])
        except Exception as error:  # noqa: BLE001 - handed to those who wait
            theirs = isinstance(error, QueueGone) or not isinstance(error, StoreError)
            if len(waiting) > 1 and theirs:
                # One of them cannot be stored: the others are stored without it.
                for one in waiting:
                    await self._store_all([one])
                return
            for _, future in waiting:
                if not future.done():
                    future.set_exception(error)
            return
        start = 0
        for drafts, future in waiting:
            if not future.done():
                future.set_result(answers[start : start + len(drafts)])
            start += len(drafts)
