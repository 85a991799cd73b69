"""Deadlines: a send that hangs is cut. One timer for all; `asyncio.timeout` cost 30 % of the
time of a no-op handler."""

import asyncio
from collections.abc import Iterable

from postroad.ports.clock import Clock, Timer


class Deadlines:
    """The sends in flight, and the time at which each is cut."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[asyncio.Task[None], tuple[float, int]] = {}
        """When each is cut, and its message."""
        self._cut: set[asyncio.Task[None]] = set()
        self._stopped: set[asyncio.Task[None]] = set()
        self._timer: Timer | None = None
        self._timer_s = 0.0
        self._all_cut = False
        self._host = asyncio.current_task()
        """The task of the run. Who ends a whole program cancels it together with all others."""
        self._host_cancelled = self._host.cancelling() if self._host else 0

    def start(
        self, task: "asyncio.Task[None]", seconds: float, now_s: float, number: int = 0
    ) -> None:
        """A send of this task begins."""
        until_s = now_s + seconds
        self._until[task] = (until_s, number)
        if self._timer is None or until_s < self._timer_s:
            self._arm(until_s, seconds)

    def extend(self, task: "asyncio.Task[None]", seconds: float) -> None:
        """The send of this task still goes on; it may take so long from now."""
        if task in self._until and task not in self._cut:
            self.start(task, seconds, self._clock.steady_s(), self._until[task][1])

    def stop_try(self, number: int) -> None:
        """Cut the send of a message now, since it is cancelled."""
        for task, (_, carried) in self._until.items():
            if carried == number and task not in self._cut:
                self._stopped.add(task)
                self._cut.add(task)
                task.cancel()
                return

    def was_stopped(self, task: "asyncio.Task[None]") -> bool:
        """Whether the send was cut since its message is cancelled; asked once."""
        stopped = task in self._stopped
        self._stopped.discard(task)
        return stopped

    def end(self, task: "asyncio.Task[None]") -> bool:
        """The send has ended; True when it was cut, so that its cancellation is ours."""
        del self._until[task]
        if task not in self._cut:
            return False
        self._cut.discard(task)
        self._stopped.discard(task)
        task.uncancel()
        return True

    def cut_all(self, tasks: Iterable["asyncio.Task[None]"]) -> None:
        """The engine ends: cut what has not ended. It spends no attempt."""
        self._all_cut = True
        for task in tasks:
            task.cancel()

    def is_ending(self) -> bool:
        """Whether sends are cancelled because the engine or its program ends. Any other
        cancellation but ours is the handler's own."""
        host = self._host
        cancelled = host is not None and host.cancelling() > self._host_cancelled
        return self._all_cut or cancelled

    def stop(self) -> None:
        """Cut nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self, until_s: float, seconds: float) -> None:
        self.stop()
        self._timer_s = until_s
        self._timer = self._clock.later(int(seconds * 1000) + 1, self._check)

    def _check(self) -> None:
        now_s = self._clock.steady_s()
        self._timer = None
        for task, (until_s, _) in self._until.items():
            if until_s <= now_s and task not in self._cut:
                self._cut.add(task)
                task.cancel()
        waiting = [s for task, (s, _) in self._until.items() if task not in self._cut]
        if waiting:
            self._arm(min(waiting), min(waiting) - now_s)
