"""DescriptorBackoff: fewer sends at once while this process lacks file descriptors."""

from functools import partial
from typing import Final

from postroad.engine.capacity import Capacity
from postroad.engine.lane_worker import LaneWorker
from postroad.model.errors import Shortage
from postroad.model.outcome import Outcome, lacking
from postroad.ports.clock import Clock
from postroad.ports.log import Log

AGAIN_S: Final = 1.0


class DescriptorBackoff:
    """A lane that could not send rests for a second, and its pool may have no more in flight than
    could be sent; else all that is due is tried in vain, one after the other. Each success lets the
    pool have more: one lane that never succeeds does not hold up others."""

    def __init__(self, capacity: Capacity, clock: Clock, log: Log) -> None:
        self.resting: dict[int, float] = {}
        """Lanes that rest, and until when."""
        self._capacity = capacity
        self._clock = clock
        self._log = log
        self._growing: set[str] = set()

    def failed(self, worker: LaneWorker, error: Shortage) -> Outcome:
        """A send lacked a descriptor; answers the outcome of its try."""
        pool = worker.lane.key.pool
        self.resting[worker.lane.id] = self._clock.steady_s() + AGAIN_S
        self._capacity.shrink(pool)
        if pool not in self._growing:
            self._log.warning("fewer sends at once for a while", pool=pool, error=str(error))
            self._growing.add(pool)
            self._grow_later(pool)
        return lacking(str(error))

    def is_resting(self, worker: LaneWorker, now_s: float) -> bool:
        """Whether this lane could not send a moment ago."""
        return self.resting.get(worker.lane.id, now_s) > now_s

    def succeeded(self, worker: LaneWorker) -> None:
        """A send of a lane was answered: its pool may have more."""
        if worker.lane.key.pool in self._capacity.reduced_pools:
            self._capacity.grow(worker.lane.key.pool)

    def _grow_later(self, pool: str) -> None:
        # The timer is not cancelled.
        _ = self._clock.later(int(AGAIN_S * 1000), partial(self._grow, pool))

    def _grow(self, pool: str) -> None:
        if pool in self._capacity.reduced_pools:
            self._capacity.grow(pool)
            self._grow_later(pool)
        else:
            self._growing.discard(pool)
            self.resting.clear()
