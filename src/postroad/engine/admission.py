"""Admission: whether the process has capacity for a message, and its limits a rate slot."""

from postroad.engine.capacity import Capacity
from postroad.engine.lane_pacing import LanePacing
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.suspect_isolation import SuspectIsolation
from postroad.engine.waiting_lanes import is_unproven
from postroad.model.entities import Message
from postroad.model.hours import closed


class Admission:
    """Asked by a runner for one message after the other of its lane."""

    __slots__ = (
        "_capacity",
        "_isolation",
        "_now_ms",
        "_pacing",
        "_pool",
        "_tenant",
        "_unproven",
        "_worker",
        "lacked_capacity",
        "lacked_slot",
    )

    def __init__(
        self,
        worker: LaneWorker,
        capacity: Capacity,
        isolation: SuspectIsolation,
        pacing: LanePacing,
    ) -> None:
        self._worker = worker
        self._pool = worker.lane.key.pool
        self._tenant = worker.lane.key.tenant
        self._capacity = capacity
        self._isolation = isolation
        self._pacing = pacing
        self._now_ms = 0
        self._unproven = False
        """The lane has not answered yet, and this is its only send in flight."""
        self.lacked_capacity = False
        """Whether a send was refused since this process has no capacity for it."""
        self.lacked_slot = False
        """Whether a send was refused since its limits have no rate slot for it."""

    def next(self, now_ms: int) -> Message | None:
        """The lane's next message, with its place taken."""
        worker, capacity = self._worker, self._capacity
        self.lacked_capacity = self.lacked_slot = False
        self._unproven, self._now_ms = is_unproven(worker), now_ms
        message = worker.next(now_ms, self.admits)
        if message is not None:
            capacity.note_start(self._tenant, now_ms)
            capacity.take(message.level, self._pool, self._tenant)
            if self._unproven:
                capacity.count_unproven(self._tenant, 1)
            if worker.probation.active:
                self._isolation.enter(worker, message)
        return message

    def admits(self, message: Message) -> bool:
        """Whether it may start."""
        worker, capacity = self._worker, self._capacity
        isolated = worker.probation.active and not self._isolation.admits(message)
        unproven = self._unproven and capacity.left_unproven(self._tenant) <= 0
        if isolated or unproven or not capacity.admits(message.level, self._pool, self._tenant):
            self.lacked_capacity = True
            return False
        queue = worker.cache.queue(message.queue).queue
        if not queue.ledgers:
            return True
        if queue.hours and closed(queue.hours, message.headers, self._now_ms):
            return True  # it is put off, which takes no slot
        if not self._pacing.ready(worker, queue):
            self.lacked_slot = True
            return False
        return True

    def ended(self, message: Message) -> None:
        """Give the place of an ended send back."""
        self._capacity.give(message.level, self._pool, self._tenant)
        if self._unproven:
            self._capacity.count_unproven(self._tenant, -1)
