"""Lanes that could go on, but this process had no room for them: by tenant, in turn."""

from collections.abc import Callable

from postroad.engine.capacity import Capacity
from postroad.engine.lane_worker import LaneWorker

Line = tuple[str, bool]
"""Of a tenant, those that did not answer yet or the others."""


def on_trial(worker: LaneWorker) -> bool:
    """Whether its next one would be the only one in flight, and may find nobody there."""
    return not (worker.answered or worker.in_flight)


class WaitingLanes:
    """Each tenant's lanes wait in lines of their own, those that did not answer yet apart: one with
    hundreds that may not go on does not stand before others that may."""

    def __init__(self, room: Capacity) -> None:
        self._room = room
        self._lines: dict[Line, dict[LaneWorker, None]] = {}
        self.passes = 0
        """So many may still pass on a place that they cannot use: once round."""

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, worker: LaneWorker) -> None:
        """One more waits, at the end of its line unless it is there."""
        line = (worker.lane.key.tenant, on_trial(worker))
        self._lines.setdefault(line, {}).setdefault(worker)

    def may_go(self) -> bool:
        """Whether there is room for one of those who wait."""
        return any(self._left(line) > 0 for line in self._lines)

    def all_may_pass(self) -> None:
        """From now on each may pass on a place once."""
        self.passes = sum(map(len, self._lines.values()))

    def pass_on(self, start: Callable[[LaneWorker], bool]) -> None:
        """Of each line that may have more one goes on; who cannot use the place passes it on."""
        for line in list(self._lines):
            while self.passes and self._left(line) > 0:
                worker = self._first(line)
                if worker is None:
                    break
                self.passes -= 1
                if start(worker):
                    break

    def serve(self, start: Callable[[LaneWorker], bool]) -> None:
        """As many go on as there is room for. One that is paused or blocked by now takes none."""
        self.all_may_pass()
        for line in list(self._lines):
            left = self._left(line)
            while left > 0 and (worker := self._first(line)) is not None:
                left -= start(worker)

    def _left(self, line: Line) -> int:
        tenant, untried = line
        left = self._room.left(tenant)
        return min(left, self._room.left_unproven(tenant)) if untried else left

    def _first(self, line: Line) -> LaneWorker | None:
        """The lane that has waited longest; its line goes to the end of all."""
        waiting = self._lines.pop(line, None)
        if waiting is None:
            return None
        worker = next(iter(waiting))
        del waiting[worker]
        if waiting:
            self._lines[line] = waiting
        return worker
