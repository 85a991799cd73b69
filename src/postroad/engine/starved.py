"""Lanes that could go on, but this process had no room for them: by tenant, in turn."""

from collections.abc import Callable

from postroad.engine.lane import LaneWorker
from postroad.engine.room import Room


class Starved:
    """Each tenant's lanes wait in a line of their own: one with hundreds that may not go on does
    not stand before others that may."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._lines: dict[str, dict[LaneWorker, None]] = {}
        self.passes = 0
        """So many may still pass on a place that they cannot use: once round."""

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, worker: LaneWorker) -> None:
        """One more waits, at the end of its line unless it is there."""
        self._lines.setdefault(worker.lane.key.tenant, {}).setdefault(worker)

    def may_go(self) -> bool:
        """Whether there is room for one of those who wait."""
        return any(self._room.left(tenant) > 0 for tenant in self._lines)

    def all_may_pass(self) -> None:
        """From now on each may pass on a place once."""
        self.passes = sum(map(len, self._lines.values()))

    def pass_on(self, start: Callable[[LaneWorker], bool]) -> None:
        """Of each tenant that may have more one goes on; who cannot use the place passes it on."""
        for tenant in list(self._lines):
            while self.passes and self._room.left(tenant) > 0:
                worker = self._first(tenant)
                if worker is None:
                    break
                self.passes -= 1
                if start(worker):
                    break

    def serve(self, start: Callable[[LaneWorker], bool]) -> None:
        """As many go on as there is room for. One that is paused or blocked by now takes none."""
        self.all_may_pass()
        for tenant in list(self._lines):
            left = self._room.left(tenant)
            while left > 0 and (worker := self._first(tenant)) is not None:
                left -= start(worker)

    def _first(self, tenant: str) -> LaneWorker | None:
        """The lane that has waited longest; its tenant goes to the end of all."""
        line = self._lines.pop(tenant, None)
        if line is None:
            return None
        worker = next(iter(line))
        del line[worker]
        if line:
            self._lines[tenant] = line
        return worker
