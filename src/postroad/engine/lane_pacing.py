"""Paced: a lane's starts take slots of the limits that its queues stand under."""

from collections.abc import Callable
from functools import partial
from typing import Final
from weakref import WeakMethod

from postroad.engine.lane_worker import LaneWorker
from postroad.model.entities import Queue
from postroad.ports.pace import Line, Pace

EARLY_S: Final = 0.25
"""A start that is noted first takes its slot so long before its time, and waits after the note."""


class LanePacing:
    """Asked before a message is chosen: one without a slot stays where it is, takes no place in
    any window, and can be cancelled, paused or stopped like any other that waits."""

    def __init__(self, pace: Pace, window: int, wake: Callable[[int], None]) -> None:
        self.on_time = pace.on_time
        self._window = window
        self._pace = pace
        self._wake = WeakMethod(wake)

    def ready(self, worker: LaneWorker, queue: Queue) -> bool:
        """Whether a message of a limited queue may start now; if not, the lane is pumped when it
        is worth asking again."""
        noted = worker.probation.marking or queue.policy.at_most_once
        wanted = partial(self._wanted, worker, queue.ledgers)
        return self._line(worker, queue.ledgers).ready(wanted, EARLY_S if noted else 0.0)

    def take(self, worker: LaneWorker, queue: Queue) -> float | None:
        """The slot of a start; None when nothing limits it."""
        return self._line(worker, queue.ledgers).take() if queue.ledgers else None

    def retry(self, worker: LaneWorker) -> None:
        """Something about the lane has changed, perhaps a limit."""
        for line in worker.lines.values():
            line.retry()

    def _line(self, worker: LaneWorker, ledgers: tuple[int, ...]) -> Line:
        if ledgers not in worker.lines:
            # Nothing that a worker holds may hold it, or the engine that does: for ever.
            wake = partial(_wake, self._wake, worker.lane.id)
            worker.lines[ledgers] = self._pace.line(ledgers, f"lane {worker.lane.id}", wake)
        return worker.lines[ledgers]

    def _wanted(self, worker: LaneWorker, ledgers: tuple[int, ...]) -> int:
        """How many could start, had they slots: nobody else gets what is reserved in vain."""
        places, waiting = self._window - worker.in_flight, 0
        for turn in worker.cache.turns.values():
            if turn.queue.ledgers == ledgers:
                waiting += sum(len(rung.buffer) for rung in turn.rungs.values())
                if waiting >= places:
                    break
        return max(1, min(waiting, places))


def _wake(told: "WeakMethod[Callable[[int], None]]", lane: int) -> None:
    wake = told()
    if wake is not None:
        wake(lane)
