"""What to do while this process lacks something to send with: nobody else is to blame."""

from functools import partial
from typing import Final

from postroad.engine.capacity import Capacity
from postroad.engine.lane_worker import LaneWorker
from postroad.model.errors import Shortage
from postroad.model.outcome import Outcome, short
from postroad.ports.clock import Clock
from postroad.ports.log import Log

AGAIN_S: Final = 1.0


class DescriptorBackoff:
    """A lane that could not send rests for a moment, and no more of its kind are under way than
    could be sent; else all that is due is tried in vain, one after the other. Each that is sent
    makes room for more: who has what he needs goes on beside one who lacks it for good."""

    def __init__(self, room: Capacity, clock: Clock, log: Log) -> None:
        self.lacked: dict[int, float] = {}
        """Lanes that rest, and until when."""
        self._room = room
        self._clock = clock
        self._log = log
        self._growing: set[str] = set()

    def lacking(self, worker: LaneWorker, error: Shortage) -> Outcome:
        """It could not be sent; what becomes of the try."""
        pool = worker.lane.key.pool
        self.lacked[worker.lane.id] = self._clock.steady_s() + AGAIN_S
        self._room.shrink(pool)
        if pool not in self._growing:
            self._log.warning("fewer sends at once for a while", pool=pool, error=str(error))
            self._growing.add(pool)
            self._grow_later(pool)
        return short(str(error))

    def rests(self, worker: LaneWorker, now_s: float) -> bool:
        """Whether this lane could not send a moment ago."""
        return self.lacked.get(worker.lane.id, now_s) > now_s

    def sent(self, worker: LaneWorker) -> None:
        """What one could have, others may have, too."""
        if worker.lane.key.pool in self._room.short:
            self._room.grow(worker.lane.key.pool)

    def _grow_later(self, pool: str) -> None:
        # It is not taken back.
        _ = self._clock.later(int(AGAIN_S * 1000), partial(self._grow, pool))

    def _grow(self, pool: str) -> None:
        if pool in self._room.short:
            self._room.grow(pool)
            self._grow_later(pool)
        else:
            self._growing.discard(pool)
            self.lacked.clear()
