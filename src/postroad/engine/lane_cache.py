"""Reading ahead: what the owner of a lane knows of its rungs, and what to ask the store."""

import heapq
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from postroad.engine.lane_queue import LaneQueue, RungBuffer
from postroad.model.entities import Rung
from postroad.model.record import LaneChange, Look, QueueChange, Reading, View, Want
from postroad.model.states import NEVER

ASKS_MAX = 64
NONE: Final[list[tuple[int, int]]] = []
"""Of all lanes where nothing is due later; nothing is ever added to it."""


class LaneCache(Struct, gc=False, eq=False):
    """The rungs of one owned lane. What was ready at the last look is known here, so the next
    look asks only for what became ready since."""

    _lane: int
    _buffer: int
    low: int
    """With so few read ahead a rung is read again."""
    turns: dict[int, LaneQueue] = field(default_factory=dict)
    rungs: dict[int, RungBuffer] = field(default_factory=dict)
    _hungry: dict[int, RungBuffer] = field(default_factory=dict)
    _asking: int = 0
    _due: list[tuple[int, int]] = field(default_factory=lambda: NONE)
    """A heap; made when something is due later."""
    _due_of: dict[int, int] = field(default_factory=dict)
    _looking: bool = False
    looks: int = 0
    _look_at_ms: int = 0
    _looked_ms: int = -1
    _look_whole: bool = False
    told: bool = False
    """Something changed that even a lane which may not send has to hear of."""
    _unseen: dict[int, None] = field(default_factory=dict)
    _passed: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Where messages that were in hand were read and left alone: rung and place."""

    @property
    def awaiting(self) -> bool:
        """Whether an answer is under way."""
        return bool(self._looking or self._asking)

    @property
    def busy(self) -> bool:
        """Whether an answer is awaited or a question due."""
        return bool(self._looking or self._asking or self._hungry or self._unseen)

    @property
    def eager(self) -> bool:
        """Whether a rung is to be read as soon as the lane may."""
        return bool(self._hungry)

    def wake_at_ms(self) -> int:
        """When something is due without a ring."""
        look_at_ms = NEVER if self._looking else self._look_at_ms
        return min(look_at_ms, self._due[0][0] if self._due else NEVER)

    def ring(self, rung: int, due_ms: int, now_ms: int) -> None:
        """The store has something new: for a rung, or (0) anywhere in the lane."""
        if rung == 0:
            self.told = True
            self.look_from(0, whole=True)
        elif rung not in self.rungs:
            if due_ms > now_ms:
                self.look_from(due_ms)
            else:
                self._unseen[rung] = None
        elif due_ms > now_ms:
            self.due(due_ms, rung)
        else:
            self.rungs[rung].ring(due_ms)
            self.feed(self.rungs[rung])

    def look_from(self, at_ms: int, *, whole: bool = False) -> None:
        """Look no later than that; `whole`: at all that is ready, not only at what is new."""
        self._look_at_ms = min(self._look_at_ms, at_ms)
        self._look_whole = self._look_whole or whole

    def due(self, at_ms: int, rung: int) -> None:
        """A known rung has something from then on."""
        # Only the soonest of each rung: reading it then says when the next one is due.
        if at_ms < self._due_of.get(rung, NEVER):
            self._due_of[rung] = at_ms
            self._due = self._due or []
            heapq.heappush(self._due, (at_ms, rung))

    def curious(self, now_ms: int) -> bool:
        """Whether there is anything to ask about rungs."""
        return not self._looking and (self._look_at_ms <= now_ms or bool(self._unseen))

    def wanting(self, now_ms: int) -> bool:
        """Whether any rung is to be read."""
        return bool(self._hungry or (self._due and self._due[0][0] <= now_ms))

    def look(self, now_ms: int) -> Look:
        """What to ask about rungs, when there is something."""
        self._looking = True
        self.looks += 1
        whole = self._look_whole
        ask = Look(
            self._lane,
            -1 if whole else self._looked_ms,
            tuple(self._unseen),
            tuple(self.turns) if whole else (),
        )
        self._look_whole = self.told = False
        self._unseen.clear()
        self._look_at_ms = NEVER
        self._looked_ms = now_ms
        return ask

    def learn(self, view: View) -> None:
        """The answer to a look."""
        self._looking = False
        self.look_from(view.next_at_ms)
        for queue in view.queues:
            turn = self.turns.get(queue.id)
            if turn is None:
                self.turns[queue.id] = LaneQueue.of(queue, self._looked_ms)
            else:
                turn.learn(queue, self.looks)
        for row in view.rungs:
            self._learn_rung(row)

    def _learn_rung(self, row: Rung) -> None:
        rung = self.rungs.get(row.id)
        if rung is None:
            rung = self.rungs[row.id] = self.turns[row.queue].rungs[row.id] = RungBuffer(
                row, row.ordered
            )
        else:
            rung.row = row
            rung.ring(0)
        self.feed(rung)

    def reread(self, rung: RungBuffer) -> None:
        """It has something again."""
        rung.ring(0)
        self.feed(rung)

    def begin(self, view: View, readings: dict[int, Reading], now_ms: int) -> list[RungBuffer]:
        """All that came with the claim of the lane: the rungs, with what was read of them."""
        self.looks, self._looked_ms, self._look_at_ms = 1, now_ms, view.next_at_ms
        for queue in view.queues:
            self.turns[queue.id] = LaneQueue.of(queue, now_ms)
        for row in view.rungs:
            rung = RungBuffer(row, row.ordered)
            self.rungs[row.id] = self.turns[row.queue].rungs[row.id] = rung
            reading = readings.get(row.id)
            if reading is not None:
                rung.begin(reading)
                if reading.next_due_ms < NEVER:
                    self.due(reading.next_due_ms, row.id)
            self.feed(rung)
        return list(self.rungs.values())

    def feed(self, rung: RungBuffer) -> None:
        """A rung that may have more and is running low is read again."""
        if not (rung.dry or rung.asking or rung.busy) and len(rung.buffer) <= self.low:
            self._hungry[rung.row.id] = rung

    def wants(self, now_ms: int, *, only_one: bool) -> list[Want]:
        """Which rungs to read from, and how much; `only_one` message when it is a probe."""
        while self._due and self._due[0][0] <= now_ms:
            due_ms, number = heapq.heappop(self._due)
            self._due_of.pop(number, None)
            self.rungs[number].ring(due_ms)
            self.feed(self.rungs[number])
        share = max(4, self._buffer // max(1, len(self._hungry)))
        wants: list[Want] = []
        for number in list(self._hungry)[: 1 if only_one else ASKS_MAX]:
            rung = self._hungry.pop(number)
            wants.append(rung.want(1 if only_one else share))
        self._asking += len(wants)
        return wants

    def read(self, reading: Reading, known: Mapping[int, object]) -> RungBuffer:
        """The answer to a want."""
        self._asking -= 1
        rung = self.rungs[reading.rung]
        rung.read(reading, known)
        if known:
            self._passed |= {m.id: (m.rung, m.place) for m in reading.messages if m.id in known}
        if reading.next_due_ms < NEVER:
            self.due(reading.next_due_ms, reading.rung)
        self.feed(rung)
        return rung

    def put_down(self, number: int, rung: int, place: int) -> None:
        """A message is not in hand any more. If it was passed by elsewhere than where it was taken
        from, it was replayed meanwhile, and is read again there."""
        found = self._passed.pop(number, (rung, place))
        if found != (rung, place):
            self.reread(self.rungs[found[0]])

    def changed(self, queue: QueueChange | None, lane: LaneChange | None) -> None:
        """The store has taken a change of a queue's hold-off or of the circuit. A look that is
        under way may have been answered before that."""
        if queue:
            turn = self.turns[queue.queue]
            turn.unrecorded -= 1
            turn.settled_at_look = self.looks
        if lane or (queue and queue.block is None):
            self.look_from(0, whole=True)  # what was blocked is not any more
        elif queue and queue.block:
            # Whole: it may have been written after its own end, and would look like old news.
            self.look_from(queue.block.until_ms, whole=True)

    def withdraw(self, numbers: frozenset[int]) -> None:
        """Messages are not to be started."""
        for rung in self.rungs.values():
            if rung.withdraw(numbers) and rung.ordered:
                rung.forget()  # nobody overtakes them: they may not get out of the store

    def forget(self, turn: LaneQueue) -> None:
        """Nothing of a queue goes for now: it comes back by a look."""
        for number, rung in turn.rungs.items():
            rung.forget()
            self._hungry.pop(number, None)
        turn.listed = False
