"""Admission: whether a message may start now, as far as its process and its limits go."""

from postroad.engine.capacity import Capacity
from postroad.engine.lane_pacing import LanePacing
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.suspect_isolation import SuspectIsolation
from postroad.engine.waiting_lanes import on_trial
from postroad.model.entities import Message


class Admission:
    """Asked by a runner for one message after the other of its lane."""

    __slots__ = (
        "_paced",
        "_pool",
        "_quarantine",
        "_room",
        "_tenant",
        "_trial",
        "_worker",
        "crowded",
        "unpaced",
    )

    def __init__(
        self, worker: LaneWorker, room: Capacity, quarantine: SuspectIsolation, paced: LanePacing
    ) -> None:
        self._worker = worker
        self._pool = worker.lane.key.pool
        self._tenant = worker.lane.key.tenant
        self._room = room
        self._quarantine = quarantine
        self._paced = paced
        self._trial = False
        """The lane did not answer yet, and this is the only one of it in flight."""
        self.crowded = False
        """Something was refused for want of room."""
        self.unpaced = False
        """Something was refused for want of a slot."""

    def next(self, now_ms: int) -> Message | None:
        """The lane's next message, with its place taken."""
        worker, room = self._worker, self._room
        self.crowded = self.unpaced = False
        self._trial = on_trial(worker)
        message = worker.next(now_ms, self.admits)
        if message is not None:
            room.met(self._tenant, now_ms)
            room.take(message.level, self._pool, self._tenant)
            if self._trial:
                room.try_out(self._tenant, 1)
            if worker.probation.active:
                self._quarantine.enter(worker, message)
        return message

    def admits(self, message: Message) -> bool:
        """Whether it may start."""
        worker = self._worker
        noted = worker.probation.active and not self._quarantine.admits(message)
        untried = self._trial and self._room.left_unproven(self._tenant) <= 0
        if noted or untried or not self._room.admits(message.level, self._pool, self._tenant):
            self.crowded = True
            return False
        queue = worker.cache.queue(message.queue).queue
        if queue.ledgers and not self._paced.ready(worker, queue):
            self.unpaced = True
            return False
        return True

    def ended(self, message: Message) -> None:
        """It gives its place back."""
        self._room.give(message.level, self._pool, self._tenant)
        if self._trial:
            self._room.try_out(self._tenant, -1)
