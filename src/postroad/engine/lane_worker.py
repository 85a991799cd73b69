"""The one worker of a lane: which message goes next, and what its answer changes. No I/O."""

from collections import deque
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from postroad.engine.attempt_effects import (
    LOST_LEASES_MAX,
    AttemptEffects,
    AttemptTimes,
    cancelled,
    result_of,
    stopped,
    suspected,
)
from postroad.engine.crash_probation import CrashProbation
from postroad.engine.early_probe import EarlyProbe
from postroad.engine.lane_cache import LaneCache
from postroad.engine.lane_queue import Admits, LaneQueue, RungBuffer
from postroad.engine.open_messages import OpenMessages
from postroad.model.block import BlockKind
from postroad.model.circuit import Circuit
from postroad.model.decide import STAYS, Move, Next, Situation, decide, expired, untroubled
from postroad.model.entities import Lane, Message
from postroad.model.limits import Limits
from postroad.model.outcome import Outcome
from postroad.model.record import LaneChange, Look, QueueChange, Reading, Result, View, Want
from postroad.model.states import NEVER
from postroad.ports.pace import Line

NO_TURNS: Final[deque[LaneQueue]] = deque()
"""Of all lanes where no queue waits for its turn; nothing is ever added to it."""


class LaneWorker(Struct, gc=False, eq=False):
    """Owns a lane for one epoch. There are thousands that rest: such a one holds nothing that the
    collector would walk over (and nothing of what it holds knows it)."""

    lane: Lane
    circuit: Circuit
    probation: CrashProbation
    cache: LaneCache
    _window: int
    open_messages: OpenMessages = field(default_factory=OpenMessages)
    lines: dict[tuple[int, ...], Line] = field(default_factory=dict)
    """Where it gets the slots of its limited queues, by their ledgers."""
    in_flight: int = 0
    stopped: bool = False
    leaving: bool = False
    """It is given back as soon as what is in flight has ended."""
    lacks_capacity: bool = False
    """Something could go, but this process has no room for it."""
    early_probe: EarlyProbe = field(default_factory=EarlyProbe)
    _busy_turns: int = 0
    _listed: deque[LaneQueue] = field(default_factory=lambda: NO_TURNS)
    _probe: int = 0
    _unrecorded_changes: int = 0
    _settled_at_look: int = 0
    _capped: dict[int, LaneQueue] = field(default_factory=dict)

    @classmethod
    def of(cls, lane: Lane, limits: Limits) -> "LaneWorker":
        """The worker of a lane that was just claimed."""
        cache = LaneCache(lane.id, limits.buffer, limits.buffer // 4)
        return cls(
            lane, lane.circuit, CrashProbation(lane.crashes, lane.crashes > 0), cache, limits.window
        )

    @property
    def spent(self) -> bool:
        """Nothing in flight, read ahead or asked for: at most it waits to be recorded."""
        rests = self.leaving or self.lane.paused
        busy = self.cache.awaiting if rests else self._listed or self.cache.busy
        return not (busy or self.in_flight or self.open_messages.in_place.waiting)

    @property
    def quiet(self) -> bool:
        """Nothing in flight, unrecorded, read ahead or asked for."""
        return not self.open_messages.known and self.spent

    def startable(self, now_ms: int) -> bool:
        """Whether it is worth asking for the next message."""
        return bool(self._listed) or self.open_messages.in_place.due_ms() <= now_ms

    def wake_at_ms(self) -> int:
        """When something changes without a ring."""
        alone = self._probe or (self.probation.marking and self.in_flight)
        if alone or self.leaving or self.lane.paused:
            return NEVER
        soonest = min(self.cache.wake_at_ms(), self.open_messages.in_place.wake_at_ms())
        if not self.circuit.is_open:
            return soonest
        known = self.cache.eager and not self._listed  # what the probe is read from
        return max(0 if known else soonest, self.early_probe.probe_at_ms(self.circuit))

    def look(self, now_ms: int) -> Look | None:
        """What to ask the store about rungs, if anything."""
        may = self.cache.curious(now_ms) and not self.stopped
        return self.cache.look(now_ms) if may and (self._open(now_ms) or self.cache.told) else None

    def learn(self, view: View) -> None:
        """The answer to a look."""
        self.cache.learn(view)
        if view.paused and not self.lane.paused:
            self._give_up_all()
        if view.paused != self.lane.paused:
            self.lane = replace(self.lane, paused=view.paused)
        newest = not self._unrecorded_changes and self.cache.looks > self._settled_at_look
        if self.circuit.is_open and not view.circuit.is_open and newest:
            self.circuit = view.circuit  # somebody closed it by hand
            self._probe = 0
        for turn in [turn for turn in self.cache.turns.values() if turn.queue.paused]:
            self._give_up(turn)

    def begin(
        self, view: View, readings: dict[int, Reading], now_ms: int
    ) -> list[AttemptEffects] | None:
        """What came with the claim, for a lane that was just made: as a look, its answer and the
        readings would have it, in a third of the time. None when it is to go their way."""
        if self.lane.paused or self.circuit.opened or self.probation.marking:
            return None
        verdicts: list[AttemptEffects] = []
        for rung in self.cache.begin(view, readings, now_ms):
            turn = self.cache.turns[rung.row.queue]
            if turn.queue.policy.at_most_once:
                verdicts += self._suspects(rung, once=True)
            if turn.queue.paused:
                self._give_up(turn)
            self._list(turn)
        return verdicts

    def wants(self, now_ms: int) -> list[Want]:
        """What to ask the store about messages, if anything."""
        if not (self.cache.wanting(now_ms) and self._open(now_ms)):
            return []
        one = self.circuit.is_open or self.probation.marking
        return [] if one and self._listed else self.cache.wants(now_ms, only_one=one)

    def read(self, reading: Reading) -> list[AttemptEffects]:
        """Messages came; answers verdicts on those that must not start."""
        rung = self.cache.read(reading, self.open_messages.known)
        turn = self.cache.turns[rung.row.queue]
        once = turn.queue.policy.at_most_once
        verdicts = self._suspects(rung, once=once) if self.probation.marking or once else []
        self._list(turn)
        return verdicts

    def _suspects(self, rung: RungBuffer, *, once: bool) -> list[AttemptEffects]:
        """Messages that were started in lost leases: too often, or once where that is enough."""
        found = rung.take_marked(1 if once else LOST_LEASES_MAX)
        self.open_messages.known |= {message.id: False for message in found}
        return [suspected(self.lane, rung.row, message, once=once) for message in found]

    def _list(self, turn: LaneQueue) -> None:
        if not turn.listed and turn.startable():
            turn.listed = True
            if self._listed is NO_TURNS:
                self._listed = deque()
            self._listed.append(turn)

    # Which message goes next

    def _open(self, now_ms: int) -> bool:
        if self.stopped or self.leaving or self.lane.paused:
            return False
        if self.circuit.opened:
            return now_ms >= self.early_probe.probe_at_ms(self.circuit) and not self._probe
        return not (self.probation.marking and self.in_flight)

    def next(self, now_ms: int, admits: Admits) -> Message | None:
        """The next message to start, or None for now."""
        self.lacks_capacity = False
        if not self._open(now_ms):
            return None
        message = self._next_in_place(now_ms, admits) or self._next_turn(now_ms, admits)
        self._listed = self._listed or NO_TURNS
        if message is None:
            return None
        turn, rung = self.cache.turns[message.queue], self.cache.rungs[message.rung]
        self.in_flight += 1
        self._busy_turns += turn.in_flight == 0
        turn.in_flight += 1
        rung.busy = rung.ordered
        self.open_messages.start(message.id)
        if self.circuit.opened:
            self._probe = message.id
        return message

    def may_go(self, message: Message, now_ms: int) -> bool:
        """Whether a try that was held up before its start may still begin."""
        if self.stopped or self.lane.paused or self.open_messages.on_last_try(message.id):
            return False
        if expired(message, now_ms) or (self.circuit.is_open and self._probe != message.id):
            return False
        return self.cache.turns[message.queue].blocked_until_ms() <= now_ms

    def _next_in_place(self, now_ms: int, admits: Admits) -> Message | None:
        waiting = self.open_messages.in_place
        while waiting.due_ms() <= now_ms and expired(waiting.first(), now_ms):
            self._forget_in_place(waiting.take())
        due, full = waiting.due_ms() <= now_ms, self.in_flight >= self._window
        self.lacks_capacity = due and not full and not admits(waiting.first())
        waiting.held_up = due and (full or self.lacks_capacity)
        return waiting.take() if due and not waiting.held_up else None

    def _next_turn(self, now_ms: int, admits: Admits) -> Message | None:
        if not self._listed or self.in_flight >= 2 * self._window:
            return None
        full, visits = self.in_flight >= self._window, len(self._listed)
        share = max(1, self._window // max(1, self._busy_turns, len(self._listed)))
        while visits:
            visits -= 1
            turn = self._listed.popleft()
            turn.listed = False
            if (turn.block or turn.queue.paused) and turn.blocked_until_ms() > now_ms:
                self._give_up(turn)
                continue
            if turn.in_flight and turn.in_flight >= turn.cap(share):
                self._capped[turn.queue.id] = turn  # listed again when any send ends
                continue
            # A full window has a place for a queue with nothing in flight: slow ones hold up none.
            rung = None if full and turn.in_flight else turn.best(admits)
            message = rung.take() if rung else None
            if rung is None:
                self.lacks_capacity = self.lacks_capacity or not full
            elif len(rung.buffer) <= self.cache.low:
                self.cache.feed(rung)
            self._list(turn)
            if message is not None:
                if not expired(message, now_ms):
                    return message
                visits += turn.listed  # one past its deadline is the sweep's: the next one goes
        return None

    # What an answer changes

    def done(
        self, message: Message, outcome: Outcome, attempt: AttemptTimes, now_ms: int, draw: float
    ) -> AttemptEffects:
        """A try has ended: decide, change what is known here, say what is to be written."""
        probe = self._probe == message.id
        turn = self._ended(message)
        rung = self.cache.rungs[message.rung]
        if untroubled(outcome, self.circuit, turn.block) and self.open_messages.first_try(
            message.id
        ):
            turn.succeeded(self._window)
            after = Next(Move.deliver, message.level)
            return AttemptEffects(result_of(self.lane, rung.row, message, outcome, after, attempt))
        at = Situation(
            policy=turn.queue.policy,
            rung=rung.row,
            circuit=self.circuit,
            block=turn.block,
            tries_here=self.open_messages.in_place.tries(message.id) + 1,
            probe=probe,
            started_ms=attempt.started_ms,
            now_ms=now_ms,
            draw=draw,
        )
        after = self.open_messages.unless_recalled(message.id, decide(message, outcome, at))
        if after.move is Move.deliver:
            turn.succeeded(self._window)
        self._place(message, after)
        return AttemptEffects(
            result_of(self.lane, rung.row, message, outcome, after, attempt),
            self._change_queue(turn, after),
            self._change_lane(after, now_ms),
        )

    def abandon(self, message: Message, started_ms: int) -> AttemptEffects | None:
        """A try was stopped from our side, or (0) did not start: it spends nothing. Answers a
        verdict when the message was to be cancelled."""
        _ = self._ended(message)  # its turn changes nothing here
        rung = self.cache.rungs[message.rung]
        if self.open_messages.was_recalled(message.id):
            return cancelled(self.lane, rung.row, message, started_ms)
        rung.forget()  # it lies before the cursor, and must not be overtaken
        if self.open_messages.gives_back(message.id):
            self._settled(rung, message)
            self.cache.reread(rung)
        return None

    def doubt(self, message: Message) -> AttemptEffects:
        """A try that was stopped from our side where a second one is not allowed."""
        _ = self._ended(message)  # its turn changes nothing here
        return stopped(self.lane, self.cache.rungs[message.rung].row, message)

    def _ended(self, message: Message) -> LaneQueue:
        turn = self.cache.turns[message.queue]
        self.in_flight -= 1
        self.open_messages.ended(message.id)
        self._probe = 0 if self._probe == message.id else self._probe
        turn.in_flight -= 1
        self._busy_turns -= turn.in_flight == 0
        self._list(turn)
        if turn.in_flight == 0 and self._capped:  # each of the others may have a larger share now
            for capped in self._capped.values():
                self._list(capped)
            self._capped.clear()
        return turn

    def _place(self, message: Message, after: Next) -> None:
        if after.move is Move.again:
            self.open_messages.again(message, after.due_ms)
            return
        self.open_messages.in_place.ended(message.id)
        rung = self.cache.rungs[message.rung]
        if rung.ordered and after.move not in (Move.deliver, Move.die, Move.cancel):
            rung.forget()  # the head stays at the head: what was read behind it waits with it
            if after.move in (Move.climb, Move.wait):
                self.cache.due(after.due_ms, message.rung)

    def _change_queue(self, turn: LaneQueue, after: Next) -> QueueChange | None:
        if after.block is not None:
            turn.block = after.block
            self._give_up(turn)
        elif after.unblock:
            turn.block = None
        else:
            return None
        turn.unrecorded += 1
        return QueueChange(turn.queue.id, self.lane.id, self.lane.epoch, turn.block)

    def _change_lane(self, after: Next, now_ms: int) -> LaneChange | None:
        old, self.circuit = self.circuit, after.circuit
        if self.circuit == old or not (old.opened or self.circuit.opened):
            return None
        self._unrecorded_changes += 1
        self.early_probe.changed(self.circuit, now_ms)
        if self.circuit.is_open:
            self._give_up_all()
        else:
            for turn in self.cache.turns.values():
                if turn.block and turn.block.kind is BlockKind.unreachable:
                    turn.block = None
        return self.change()

    def change(self) -> LaneChange:
        """The lane's circuit and lost leases, to be written."""
        lost, early_ms = self.probation.lost_leases, self.early_probe.at_ms
        return LaneChange(self.lane.id, self.lane.epoch, self.circuit, lost, early_ms)

    def _give_up(self, turn: LaneQueue) -> None:
        """A blocked queue's messages go back to their rungs, also those tried in place."""
        if turn.listed:
            self._listed.remove(turn)
        self.cache.forget(turn)
        self._return_in_place(turn.queue.id)
        self.cache.look_from(turn.blocked_until_ms())

    def _give_up_all(self) -> None:
        """The circuit is open: everything goes back to its rung until a probe's time."""
        self._listed = NO_TURNS
        for turn in self.cache.turns.values():
            self.cache.forget(turn)
        self._return_in_place(None)
        self.cache.look_from(0, whole=True)

    def _return_in_place(self, queue: int | None) -> None:
        for message in self.open_messages.in_place.give_up(queue):
            self._forget_in_place(message)

    def _forget_in_place(self, message: Message) -> None:
        if self.open_messages.gives_back(message.id):
            self._settled(self.cache.rungs[message.rung], message)

    def _settled(self, rung: RungBuffer, message: Message) -> None:
        """The store knows all about a message: it may be read again where it is now."""
        self.open_messages.known.pop(message.id, None)
        rung.ghost(message.id)
        rung.busy = False
        self.cache.put_down(message.id, message.rung, message.place)

    def leave(self) -> None:
        """Another process is to have the lane: nothing more is started."""
        self.leaving = True
        self._give_up_all()

    # What the store has taken

    def recorded(self, verdict: AttemptEffects) -> LaneChange | None:
        """A verdict is written: its message may be read again where it is now. Answers a change
        when enough went well after a lost lease."""
        result = verdict.result
        message, rung = result.message, self.cache.rungs[result.message.rung]
        if verdict.queue or verdict.lane:
            self.cache.changed(verdict.queue, verdict.lane)
        if verdict.lane:
            self._unrecorded_changes -= 1
            self._settled_at_look = self.cache.looks
        if result.move is not Move.again or self.open_messages.written(message.id):
            self._settled(rung, message)
            if self._goes_on(result, rung):
                self.cache.reread(rung)
            self._list(self.cache.turns[message.queue])
        return self.change() if self.probation.marking and self.probation.regained() else None

    def _goes_on(self, result: Result, rung: RungBuffer) -> bool:
        """Whether the rung is to be read again now, not only by a look when its time has come."""
        if result.move is Move.hold or not (rung.ordered or result.move in STAYS):
            return False
        return not (self.cache.turns[result.message.queue].block or self.circuit.is_open)
