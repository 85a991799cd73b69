"""Tasks of our own. One that fails is an error of the process, and never silent."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Protocol, runtime_checkable

from postroad.ports.log import Log

Broke = Callable[[BaseException], None]


class Tasks:
    """Runs tasks that must not fail unnoticed. A failure is logged with its traceback, and reported
    to the owner of the process, who ends it."""

    def __init__(self, log: Log, broke: Broke | None = None) -> None:
        self.log = log
        self._broke = broke
        self._tasks: set[asyncio.Task[None]] = set()
        self.error: BaseException | None = None

    def start(self, work: Coroutine[object, object, None], name: str) -> "asyncio.Task[None]":
        """Start a task, and keep it until it ends."""
        task = asyncio.get_running_loop().create_task(work, name=f"postroad {name}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def tell(self, broke: Broke | None) -> None:
        """Set the callback of failures, which gets also one that has happened before."""
        self._broke = broke
        if broke is not None and self.error is not None:
            broke(self.error)

    def fail(self, error: BaseException, part: str) -> None:
        """Log and report the failure of a part."""
        self.log.error("a part of the road broke", part=part, exc_info=error)
        self.hear(error)

    def hear(self, error: BaseException) -> None:
        """Report the failure of a part that has logged it itself."""
        self.error = self.error or error
        if self._broke is not None:
            self._broke(error)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.fail(error, task.get_name())

    async def close(self) -> None:
        """Cancel the tasks that still run."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        # They were cancelled: how they ended is no news.
        _ = await asyncio.gather(*tasks, return_exceptions=True)


@runtime_checkable
class HasTasks(Protocol):
    """A store with tasks of its own."""

    tasks: Tasks
