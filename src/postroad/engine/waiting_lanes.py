"""WaitingLanes: lanes that could go on, but for which this process had no capacity."""

from collections.abc import Callable

from postroad.engine.capacity import Capacity
from postroad.engine.lane_worker import LaneWorker

WaitKey = tuple[str, str, bool]
"""A tenant and a pool, and whether these lanes have not answered yet."""


def is_unproven(worker: LaneWorker) -> bool:
    """Whether its next send would be its only one, to a server that may not be there."""
    return not (worker.answered or worker.in_flight)


class WaitingLanes:
    """The lanes of each tenant and pool wait in lines of their own, those that have not answered
    yet apart: hundreds that may not go on do not hold up others that may, and a handler whose calls
    are all taken has none of its lanes ask. Lines take turns."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._lines: dict[WaitKey, dict[LaneWorker, None]] = {}
        self._handovers = 0
        """How many lanes may still hand over a place that they cannot use: each once."""

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, worker: LaneWorker) -> None:
        """One more waits, at the end of its line unless it is there."""
        line = (worker.lane.key.tenant, worker.lane.key.pool, is_unproven(worker))
        self._lines.setdefault(line, {}).setdefault(worker)

    def has_place(self, worker: LaneWorker) -> bool:
        """Whether there is capacity for a first attempt of a lane, which all others need too."""
        return self._capacity.admits(0, worker.lane.key.pool, worker.lane.key.tenant)

    def any_may_start(self) -> bool:
        """Whether there is capacity for one of those who wait."""
        return any(self._left(line) > 0 for line in self._lines)

    def allow_handovers(self) -> None:
        """Let each lane hand over a place once from now on."""
        self._handovers = sum(map(len, self._lines.values()))

    def hand_over(self, start: Callable[[LaneWorker], bool]) -> None:
        """Start one lane of each line that may have more; one that cannot use its place hands it
        over to the next."""
        for line in list(self._lines):
            while self._handovers and self._left(line) > 0:
                worker = self._first(line)
                if worker is None:
                    break
                self._handovers -= 1
                if start(worker):
                    break

    def start_all(self, start: Callable[[LaneWorker], bool]) -> None:
        """Start as many as there is capacity for. One that is blocked by now takes none."""
        self.allow_handovers()
        for line in list(self._lines):
            left = self._left(line)
            while left > 0 and (worker := self._first(line)) is not None:
                left -= start(worker)

    def _left(self, line: WaitKey) -> int:
        tenant, pool, unproven = line
        left = min(self._capacity.left(tenant), self._capacity.left_in(pool))
        return min(left, self._capacity.left_unproven(tenant)) if unproven else left

    def _first(self, line: WaitKey) -> LaneWorker | None:
        """The lane that has waited longest; its line goes to the end of all."""
        waiting = self._lines.pop(line, None)
        if waiting is None:
            return None
        worker = next(iter(waiting))
        del waiting[worker]
        if waiting:
            self._lines[line] = waiting
        return worker
