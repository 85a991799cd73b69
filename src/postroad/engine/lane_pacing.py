"""LanePacing: a lane's starts take rate slots of the limits that its queues stand under."""

from collections.abc import Callable
from functools import partial
from typing import Final
from weakref import WeakMethod

from postroad.engine.lane_worker import LaneWorker
from postroad.model.entities import Queue
from postroad.ports.pace import Pace, SlotReserver

EARLY_S: Final = 0.25
"""A start that is noted first takes its slot so long before its time, and waits after the note."""


class LanePacing:
    """Asked before a message is chosen. A message without a slot stays where it is, takes no place
    in any window, and can be cancelled, paused or stopped like any other that waits."""

    def __init__(self, pace: Pace, window: int, wake: Callable[[int], None]) -> None:
        self.on_time = pace.on_time
        self._window = window
        self._pace = pace
        self._wake = WeakMethod(wake)

    def ready(self, worker: LaneWorker, queue: Queue) -> bool:
        """Whether a message of a limited queue may start now; if not, the lane is woken when it
        is worth asking again."""
        noted = worker.probation.active or queue.policy.at_most_once
        wanted = partial(self._wanted, worker, queue.ledgers)
        return self._reserver(worker, queue.ledgers).ready(wanted, EARLY_S if noted else 0.0)

    def take(self, worker: LaneWorker, queue: Queue) -> float | None:
        """The slot of a start; None when nothing limits it."""
        return self._reserver(worker, queue.ledgers).take() if queue.ledgers else None

    def retry(self, worker: LaneWorker) -> None:
        """Ask for slots again: something about the lane has changed, perhaps a limit."""
        for reserver in worker.reservers.values():
            reserver.retry()

    def _reserver(self, worker: LaneWorker, ledgers: tuple[int, ...]) -> SlotReserver:
        if ledgers not in worker.reservers:
            # Nothing that a worker holds may refer to it, or to the engine: they would never go.
            wake, name = partial(_wake, self._wake, worker.lane.id), f"lane {worker.lane.id}"
            worker.reservers[ledgers] = self._pace.reserver(ledgers, name, wake)
        return worker.reservers[ledgers]

    def _wanted(self, worker: LaneWorker, ledgers: tuple[int, ...]) -> int:
        """How many could start, had they slots: a slot that is reserved in vain is lost."""
        places, waiting = self._window - worker.in_flight, 0
        for lane_queue in worker.cache.queues():
            if lane_queue.queue.ledgers == ledgers:
                waiting += lane_queue.waiting()
                if waiting >= places:
                    break
        return max(1, min(waiting, places))


def _wake(method: "WeakMethod[Callable[[int], None]]", lane: int) -> None:
    wake = method()
    if wake is not None:
        wake(lane)
