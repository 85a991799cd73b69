"""LaneSchedule: which message of a lane goes next, and how many may be in flight.

Queues that have something to send stand in a line and take turns, one message each: a queue with a
million waiting gets the same turn as one with three. The lane has a *window* of sends in flight; a
queue may have its share of it (window ÷ active queues), one while it is blocked or not proven, and
after a pause a *ramp*: one at first, doubled by each delivery. A full window still has a place for
a queue with nothing in flight, up to twice the window: slow queues hold up no others. A retry in
place that is due goes before all queues. A queue above its share leaves the line until a send ends.

The schedule does not read: it takes from the buffers of LaneCache. It does not know of circuits,
probes or leases: LaneWorker asks it only while the lane may send. Whether this process has the
capacity and a rate slot for one more is answered by `admits`, for each message that could go.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from postroad.engine.in_place_retries import InPlaceRetries
from postroad.engine.lane_cache import LaneCache
from postroad.engine.lane_queue import Admits, LaneQueue
from postroad.engine.rung_buffer import RungBuffer
from postroad.model.decide import expired
from postroad.model.entities import Message

NO_LINE: Final[deque[LaneQueue]] = deque()
"""Shared by all lanes where no queue waits for its turn; nothing is ever added to it."""


class LaneSchedule(Struct, gc=False, eq=False):
    """The line of queues that have something to send, and what is in flight."""

    _cache: LaneCache
    window: int
    in_flight: int = 0
    lacks_capacity: bool = False
    """At the last question something could go, but was not admitted."""
    _active_queues: int = 0
    """Queues with something in flight."""
    _line: deque[LaneQueue] = field(default_factory=lambda: NO_LINE)
    _above_share: dict[int, LaneQueue] = field(default_factory=dict)
    """Queues that left the line since they had their share in flight."""

    @property
    def has_waiting(self) -> bool:
        """Whether any queue stands in the line."""
        return bool(self._line)

    def add(self, lane_queue: LaneQueue) -> None:
        """A queue joins the end of the line, if it has something to send and is not there."""
        if not lane_queue.listed and lane_queue.startable():
            lane_queue.listed = True
            if self._line is NO_LINE:
                self._line = deque()
            self._line.append(lane_queue)

    def remove(self, lane_queue: LaneQueue) -> None:
        """A queue leaves the line."""
        if lane_queue.listed:
            lane_queue.listed = False
            self._line.remove(lane_queue)

    def clear(self) -> None:
        """All queues leave the line."""
        for lane_queue in self._line:
            lane_queue.listed = False
        self._line = NO_LINE

    def next(
        self,
        now_ms: int,
        admits: Admits,
        retries: InPlaceRetries,
        give_up: Callable[[LaneQueue], None],
    ) -> Message | None:
        """The message that starts now, if any: it is in flight from here on. A queue that turns out
        to be blocked is given up."""
        self.lacks_capacity = False
        if retries.waiting and (message := self._next_retry(now_ms, admits, retries)) is not None:
            return message
        message = self._next_in_line(now_ms, admits, give_up)
        self._line = self._line or NO_LINE
        return message

    def _next_retry(self, now_ms: int, admits: Admits, retries: InPlaceRetries) -> Message | None:
        due, full = retries.due_ms() <= now_ms, self.in_flight >= self.window
        self.lacks_capacity = due and not full and not admits(retries.first())
        retries.held_up = due and (full or self.lacks_capacity)
        if not due or retries.held_up:
            return None
        message = retries.take()
        self._started(self._cache.queue(message.queue), self._cache.rung(message.rung))
        return message

    def _next_in_line(
        self, now_ms: int, admits: Admits, give_up: Callable[[LaneQueue], None]
    ) -> Message | None:
        line = self._line
        if not line or self.in_flight >= 2 * self.window:
            return None
        full, visits = self.in_flight >= self.window, len(line)
        share = max(1, self.window // max(1, self._active_queues, visits))
        while visits:
            visits -= 1
            lane_queue = line.popleft()
            lane_queue.listed = False
            blocked = lane_queue.block or lane_queue.queue.paused
            if blocked and lane_queue.blocked_until_ms() > now_ms:
                give_up(lane_queue)
                continue
            if lane_queue.in_flight and lane_queue.in_flight >= lane_queue.cap(share):
                self._above_share[lane_queue.queue.id] = lane_queue
                continue
            rung = None if full and lane_queue.in_flight else lane_queue.best(admits)
            if rung is None:
                self.lacks_capacity = self.lacks_capacity or not full
                self.add(lane_queue)
                continue
            message = self._cache.take(rung)
            self.add(lane_queue)
            if not expired(message, now_ms):
                self._started(lane_queue, rung)
                return message
            visits += lane_queue.listed  # an expired one is the sweep's: the next one goes
        return None

    def _started(self, lane_queue: LaneQueue, rung: RungBuffer) -> None:
        rung.head_open = rung.ordered
        self.in_flight += 1
        self._active_queues += lane_queue.in_flight == 0
        lane_queue.in_flight += 1

    def ended(self, lane_queue: LaneQueue) -> None:
        """A send of this queue has ended."""
        self.in_flight -= 1
        lane_queue.in_flight -= 1
        self._active_queues -= lane_queue.in_flight == 0
        self.add(lane_queue)
        if lane_queue.in_flight == 0 and self._above_share:  # the others' share may be larger now
            for other in self._above_share.values():
                self.add(other)
            self._above_share.clear()

    def delivered(self, lane_queue: LaneQueue) -> None:
        """A message of this queue was delivered: its ramp goes up."""
        lane_queue.delivered(self.window)
