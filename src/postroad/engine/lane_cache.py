"""LaneCache: what the owner of a lane knows of its rungs, and what it has to ask the store.

The store keeps a lane's messages on rungs; only the lane's owner reads them. It asks two questions.
A *look* asks which rungs became ready since the last look, and what changed about their queues; its
answer is a View. A *want* asks for the next messages of one rung; its answer is a Reading. Answers
are kept here: a LaneQueue for each queue, a RungBuffer with the messages read ahead for each rung.
A rung that runs low is read again. A ring from the store says that something is new: the
rung is read, or a look is made, at once or when it is due.

The cache does not decide what is sent, nor whether the lane may send: LaneSchedule chooses from
the buffers, and LaneWorker says when questions may be asked. It does no I/O: LaneReader does.
"""

import heapq
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from postroad.engine.lane_queue import LaneQueue
from postroad.engine.rung_buffer import RungBuffer
from postroad.model.entities import Message, Rung
from postroad.model.record import LaneChange, Look, QueueChange, Reading, View, Want
from postroad.model.states import NEVER

WANTS_MAX: Final = 64
"""Rungs of one lane that are read at once."""
NO_DUE_TIMES: Final[list[tuple[int, int]]] = []
"""Shared by all lanes where nothing is due later; nothing is ever added to it."""


class LaneCache(Struct, gc=False, eq=False):
    """The queues and rungs of one owned lane, as far as its owner has read them."""

    _lane: int
    _read_ahead: int
    """Messages read ahead for the whole lane."""
    _low: int
    """A rung with so few messages left is read again."""
    looks: int = 0
    """Looks made so far: what was recorded before one is seen by it."""
    _queues: dict[int, LaneQueue] = field(default_factory=dict)
    _rungs: dict[int, RungBuffer] = field(default_factory=dict)
    _to_read: dict[int, RungBuffer] = field(default_factory=dict)
    """Rungs that may have more and run low."""
    _wants_open: int = 0
    """Wants without an answer yet."""
    _due: list[tuple[int, int]] = field(default_factory=lambda: NO_DUE_TIMES)
    """A heap of (due time, rung); made when something is due later."""
    _due_of: dict[int, int] = field(default_factory=dict)
    _look_open: bool = False
    """A look has no answer yet."""
    _look_at_ms: int = 0
    _looked_ms: int = -1
    _look_whole: bool = False
    """The next look asks for all that is ready, not only for what is new."""
    _must_look: bool = False
    """Whether something changed that even a lane which may not send has to read."""
    _new_rungs: dict[int, None] = field(default_factory=dict)
    """Rungs that rang and were never looked at."""
    _read_while_open: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Where messages were read, and left alone since they were open: rung and place."""

    def queue(self, number: int) -> LaneQueue:
        """A queue that a look has shown."""
        return self._queues[number]

    def queues(self) -> Iterable[LaneQueue]:
        """All queues that looks have shown."""
        return self._queues.values()

    def rung(self, number: int) -> RungBuffer:
        """A rung that a look has shown."""
        return self._rungs[number]

    @property
    def awaits_answer(self) -> bool:
        """Whether a question is under way."""
        return bool(self._look_open or self._wants_open)

    @property
    def busy(self) -> bool:
        """Whether a question is under way, or to be asked now."""
        return bool(self._look_open or self._wants_open or self._to_read or self._new_rungs)

    @property
    def has_rungs_to_read(self) -> bool:
        """Whether a rung is read as soon as the lane may ask."""
        return bool(self._to_read)

    def wake_at_ms(self) -> int:
        """When something is due without a ring."""
        look_at_ms = NEVER if self._look_open else self._look_at_ms
        return min(look_at_ms, self._due[0][0] if self._due else NEVER)

    # Looks

    def ring(self, rung: int, due_ms: int, now_ms: int) -> None:
        """The store has something new: on a rung, or (0) anywhere in the lane."""
        if rung == 0:
            self._must_look = True
            self._look_from(0, whole=True)
        elif rung not in self._rungs:
            if due_ms > now_ms:
                self._look_from(due_ms)
            else:
                self._new_rungs[rung] = None
        elif due_ms > now_ms:
            self.due(due_ms, rung)
        else:
            self._rungs[rung].added(due_ms)
            self._refill(self._rungs[rung])

    def _look_from(self, at_ms: int, *, whole: bool = False) -> None:
        """Look no later than that; `whole`: at all that is ready, not only at what is new."""
        self._look_at_ms = min(self._look_at_ms, at_ms)
        self._look_whole = self._look_whole or whole

    def look(self, now_ms: int, *, may_send: bool) -> Look | None:
        """What to ask about rungs, if anything; a lane that may not send asks little."""
        if self._look_open or not (may_send or self._must_look):
            return None
        if self._look_at_ms > now_ms and not self._new_rungs:
            return None
        self._look_open = True
        self.looks += 1
        whole = self._look_whole
        question = Look(
            self._lane,
            -1 if whole else self._looked_ms,
            tuple(self._new_rungs),
            tuple(self._queues) if whole else (),
        )
        self._look_whole = self._must_look = False
        self._new_rungs.clear()
        self._look_at_ms = NEVER
        self._looked_ms = now_ms
        return question

    def learn(self, view: View) -> None:
        """Take in the answer to a look."""
        self._look_open = False
        self._look_from(view.next_at_ms)
        for queue in view.queues:
            known = self._queues.get(queue.id)
            if known is None:
                self._queues[queue.id] = LaneQueue.of(queue, self._looked_ms)
            else:
                known.learn(queue, self.looks)
        for row in view.rungs:
            known_rung = self._rungs.get(row.id)
            if known_rung is None:
                self._refill(self._add_rung(row))
            else:
                known_rung.row = row
                self._reread(known_rung)

    def begin(self, view: View, readings: dict[int, Reading], now_ms: int) -> Iterable[RungBuffer]:
        """Take in all that came with the claim of the lane: its rungs, with what was read."""
        self.looks, self._looked_ms, self._look_at_ms = 1, now_ms, view.next_at_ms
        for queue in view.queues:
            self._queues[queue.id] = LaneQueue.of(queue, now_ms)
        for row in view.rungs:
            rung = self._add_rung(row)
            reading = readings.get(row.id)
            if reading is not None:
                rung.begin(reading)
                if reading.next_due_ms < NEVER:
                    self.due(reading.next_due_ms, row.id)
            self._refill(rung)
        return self._rungs.values()

    def _add_rung(self, row: Rung) -> RungBuffer:
        rung = RungBuffer(row, row.ordered)
        self._rungs[row.id] = self._queues[row.queue].rungs[row.id] = rung
        return rung

    # Wants

    def due(self, at_ms: int, rung: int) -> None:
        """A known rung has something from then on."""
        # Only the soonest of each rung: reading it then says when the next one is due.
        if at_ms < self._due_of.get(rung, NEVER):
            self._due_of[rung] = at_ms
            self._due = self._due or []
            heapq.heappush(self._due, (at_ms, rung))

    def _refill(self, rung: RungBuffer) -> None:
        """Read a rung that may have more and runs low."""
        if rung.to_be_read(self._low):
            self._to_read[rung.row.id] = rung

    def _reread(self, rung: RungBuffer) -> None:
        """A rung has something again."""
        rung.added(0)
        self._refill(rung)

    def take(self, rung: RungBuffer) -> Message:
        """The first message of a rung, which goes now."""
        message = rung.take()
        if len(rung.messages) <= self._low:
            self._refill(rung)
        return message

    def wants(self, now_ms: int, *, only_one: bool, turn: int = 0) -> list[Want]:
        """Which rungs to read from, and how much; `only_one` message when it is a probe. `turn`
        counts probes: each is of another rung than the last one, if there are several."""
        if not (self._to_read or (self._due and self._due[0][0] <= now_ms)):
            return []
        while self._due and self._due[0][0] <= now_ms:
            due_ms, number = heapq.heappop(self._due)
            self._due_of.pop(number, None)
            self._rungs[number].added(due_ms)
            self._refill(self._rungs[number])
        share = max(4, self._read_ahead // max(1, len(self._to_read)))
        wants: list[Want] = []
        numbers = list(self._to_read)
        first = turn % len(numbers) if only_one and numbers else 0
        for number in numbers[first : first + 1] if only_one else numbers[:WANTS_MAX]:
            rung = self._to_read.pop(number)
            wants.append(rung.want(1 if only_one else share))
        self._wants_open += len(wants)
        return wants

    def read(self, reading: Reading, open_ids: Mapping[int, object]) -> RungBuffer:
        """Take in the answer to a want, but for messages that are open."""
        self._wants_open -= 1
        rung = self._rungs[reading.rung]
        rung.read(reading, open_ids)
        if open_ids:
            self._read_while_open |= {
                m.id: (m.rung, m.place) for m in reading.messages if m.id in open_ids
            }
        if reading.next_due_ms < NEVER:
            self.due(reading.next_due_ms, reading.rung)
        self._refill(rung)
        return rung

    # What others changed

    def settled(self, message: Message, *, reread: bool = False) -> None:
        """The store knows all about a message: it may be read again where it is now, at once if
        its rung is to be read again."""
        rung = self._rungs[message.rung]
        rung.settled(message.id)
        if self._read_while_open:
            self._closed(message.id, (message.rung, message.place))
        if reread:
            self._reread(rung)

    def withdrawn(self, numbers: list[int]) -> None:
        """Messages were taken out of the store, or could not be: what is left is read again."""
        for number in numbers:
            self._closed(number, (0, 0))
        for rung in self._rungs.values():
            rung.recorded(*numbers)
        # The store may have failed, and they lie before the cursor.
        self._look_from(0, whole=True)

    def _closed(self, number: int, taken_at: tuple[int, int]) -> None:
        """A message is not open any more. If it was read elsewhere than where it was taken from,
        it was replayed meanwhile, and is read again there."""
        read_at = self._read_while_open.pop(number, taken_at)
        if read_at != taken_at:
            self._reread(self._rungs[read_at[0]])

    def changed(self, queue: QueueChange | None, lane: LaneChange | None) -> None:
        """The store has taken a change of a queue's block or of the circuit. A look that is
        under way may have been answered before that."""
        if queue:
            self._queues[queue.queue].block_recorded(self.looks)
        if lane or (queue and queue.block is None):
            self._look_from(0, whole=True)  # what was blocked is not any more
        elif queue and queue.block:
            # Whole: it may have been written after its own end, and would look like old news.
            self._look_from(queue.block.until_ms, whole=True)

    def withdraw(self, numbers: frozenset[int]) -> None:
        """Drop messages that are not to be started."""
        for rung in self._rungs.values():
            if rung.withdraw(numbers) and rung.ordered:
                rung.forget()  # nobody overtakes them: they may not get out of the store

    def forget(self, lane_queue: LaneQueue | None) -> None:
        """Drop what was read of a queue, or of all, of which nothing goes for now: a look brings it
        back."""
        for one in self._queues.values() if lane_queue is None else (lane_queue,):
            for number, rung in one.rungs.items():
                rung.forget()
                self._to_read.pop(number, None)
        if lane_queue is None:
            self._look_from(0, whole=True)
        else:
            self._look_from(lane_queue.blocked_until_ms())
