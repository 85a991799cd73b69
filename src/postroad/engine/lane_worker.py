"""LaneWorker: the one owner of a lane, for one epoch. No I/O.

It joins the parts of a lane. LaneCache knows what waits, LaneSchedule chooses what goes next, and
the worker decides whether the lane may send at all and what each answer changes:

- The *circuit* opens after failures to reach the server. Then all messages go back to their rungs,
  and one probe at a time is sent until an answer closes it.
- *Probation* after a lost lease: messages go one at a time, each noted before it starts, until some
  went well.
- *Open messages* are in flight, waiting for a retry in place, or answered and not recorded yet.
  They are not started again from their rungs until the store has recorded what became of them.
- An answer becomes AttemptEffects: the result, and a change of the queue's block or of the circuit.
  What is known here changes at once; Recorder writes it to the store, and calls `recorded`.
"""

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from postroad.engine.attempt_effects import (
    LOST_LEASES_MAX,
    AttemptEffects,
    AttemptTimes,
    cancelled,
    crash_suspect,
    interrupted,
    result_of,
    with_kept,
)
from postroad.engine.crash_probation import CrashProbation
from postroad.engine.early_probe import EarlyProbe
from postroad.engine.lane_cache import LaneCache
from postroad.engine.lane_queue import Admits, LaneQueue
from postroad.engine.lane_schedule import LaneSchedule
from postroad.engine.open_messages import OpenMessages
from postroad.engine.rung_buffer import RungBuffer
from postroad.model.circuit import Circuit, obeyed
from postroad.model.decide import STAYS, Move, Next, Situation, decide, expired, only_delivers
from postroad.model.entities import Lane, Message
from postroad.model.limits import Limits
from postroad.model.outcome import Outcome
from postroad.model.record import LaneChange, Look, QueueChange, Reading, Result, View, Want
from postroad.model.states import NEVER
from postroad.ports.pace import SlotReserver


class LaneWorker(Struct, gc=False, eq=False):
    """Owns a lane for one epoch. There are thousands that rest: such a one holds nothing that the
    collector would walk over, and nothing of what it holds refers to it."""

    lane: Lane
    circuit: Circuit
    probation: CrashProbation
    cache: LaneCache
    schedule: LaneSchedule
    keep_bodies_ms: int = 0
    open_messages: OpenMessages = field(default_factory=OpenMessages)
    early_probe: EarlyProbe = field(default_factory=EarlyProbe)
    reservers: dict[tuple[int, ...], SlotReserver] = field(default_factory=dict)
    """Where it gets the rate slots of its limited queues, by their ledgers."""
    answered: bool = False
    """The last try that was made here was answered: the server is alive."""
    stopped: bool = False
    leaving: bool = False
    """Whether the lane is given back as soon as what is in flight has ended."""
    lacks_capacity: bool = False
    """Whether a message could go, but this process has no capacity or no rate slot for it."""
    _probe: int = 0
    """The message that is sent as a probe, while one is."""
    _unrecorded_changes: int = 0
    """Changes of its circuit that the store does not know yet."""
    _recorded_at_look: int = 0

    @classmethod
    def of(cls, lane: Lane, limits: Limits) -> "LaneWorker":
        """The worker of a lane that was just claimed."""
        cache = LaneCache(lane.id, limits.buffer, limits.buffer // 4)
        probation = CrashProbation(lane.crashes, lane.crashes > 0)
        schedule = LaneSchedule(cache, limits.window_of(lane.key.transport))
        return cls(lane, lane.circuit, probation, cache, schedule, limits.keep_bodies_ms)

    @property
    def in_flight(self) -> int:
        """How many of its messages are being sent."""
        return self.schedule.in_flight

    @property
    def spent(self) -> bool:
        """Whether nothing is in flight, read ahead or asked for: at most results wait to be
        recorded."""
        if self.leaving or self.lane.paused:
            busy = self.cache.awaits_answer
        else:
            busy = self.schedule.has_waiting or self.cache.busy
        return not (busy or self.schedule.in_flight or self.open_messages.in_place.waiting)

    @property
    def quiet(self) -> bool:
        """Whether nothing is in flight, unrecorded, read ahead or asked for."""
        return not self.open_messages.ids and self.spent

    def startable(self, now_ms: int) -> bool:
        """Whether it is worth asking for the next message."""
        return self.schedule.has_waiting or self.open_messages.in_place.due_ms() <= now_ms

    def wake_at_ms(self) -> int:
        """When something changes without a ring."""
        alone = self._probe or (self.probation.active and self.in_flight)
        if alone or self.leaving or self.lane.paused:
            return NEVER
        soonest = min(self.cache.wake_at_ms(), self.open_messages.in_place.wake_at_ms())
        if not self.circuit.is_open:
            return soonest
        # The rung that the probe is read from may be known already.
        known = self.cache.has_rungs_to_read and not self.schedule.has_waiting
        return max(0 if known else soonest, self.early_probe.probe_at_ms(self.circuit))

    # What the store is asked, and answers

    def look(self, now_ms: int) -> Look | None:
        """What to ask the store about rungs, if anything."""
        if self.stopped:
            return None
        return self.cache.look(now_ms, may_send=self._may_send(now_ms))

    def learn(self, view: View) -> None:
        """Take in the answer to a look."""
        self.cache.learn(view)
        if view.paused and not self.lane.paused:
            self._give_up_all()
        if view.paused != self.lane.paused:
            self.lane = replace(self.lane, paused=view.paused)
        newest = not self._unrecorded_changes and self.cache.looks > self._recorded_at_look
        if newest and (circuit := obeyed(self.circuit, view.circuit)) is not self.circuit:
            self.circuit, self._probe = circuit, 0
            self.early_probe.changed(circuit, circuit.since_ms)
            if circuit.is_open:
                self._give_up_all()
        for lane_queue in self.cache.queues():
            if lane_queue.queue.paused:
                self._give_up(lane_queue)

    def begin(self, view: View, readings: dict[int, Reading], now_ms: int) -> list[AttemptEffects]:
        """Take in what came with the claim of the lane, in a third of the time that questions and
        answers would take. A lane in trouble only learns what there is, and asks for itself."""
        if self.lane.paused or self.circuit.opened or self.probation.active:
            if self.look(now_ms) is not None:
                self.learn(view)
            return []
        effects: list[AttemptEffects] = []
        for rung in self.cache.begin(view, readings, now_ms):
            lane_queue = self.cache.queue(rung.row.queue)
            if lane_queue.queue.policy.at_most_once:
                effects += self._suspects(rung, once=True)
            if lane_queue.queue.paused:
                self._give_up(lane_queue)
            self.schedule.add(lane_queue)
        return effects

    def wants(self, now_ms: int) -> list[Want]:
        """What to ask the store about messages, if anything."""
        if not self._may_send(now_ms):
            return []
        one = self.circuit.is_open or self.probation.active
        if one and self.schedule.has_waiting:
            return []
        return self.cache.wants(now_ms, only_one=one, turn=self.circuit.strikes)

    def read(self, reading: Reading) -> list[AttemptEffects]:
        """Take in messages; answers what becomes of those that must not start."""
        rung = self.cache.read(reading, self.open_messages.ids)
        lane_queue = self.cache.queue(rung.row.queue)
        once = lane_queue.queue.policy.at_most_once
        effects = self._suspects(rung, once=once) if self.probation.active or once else []
        self.schedule.add(lane_queue)
        return effects

    def _suspects(self, rung: RungBuffer, *, once: bool) -> list[AttemptEffects]:
        """Messages that were started in lost leases: too often, or once where that is enough."""
        found = rung.take_marked(1 if once else LOST_LEASES_MAX)
        self.open_messages.add(found)
        return [crash_suspect(self.lane, rung.row, message, once=once) for message in found]

    # Which message goes next

    def _may_send(self, now_ms: int) -> bool:
        if self.stopped or self.leaving or self.lane.paused:
            return False
        if self.circuit.opened:
            return now_ms >= self.early_probe.probe_at_ms(self.circuit) and not self._probe
        return not (self.probation.active and self.schedule.in_flight)

    def next(self, now_ms: int, admits: Admits) -> Message | None:
        """The next message to start, or None for now; `lacks_capacity` says why not."""
        self.lacks_capacity = False
        if not self._may_send(now_ms):
            return None
        retries = self.open_messages.in_place
        while retries.due_ms() <= now_ms and expired(retries.first(), now_ms):
            self._leave_in_place(retries.take())
        message = self.schedule.next(now_ms, admits, retries, self._give_up)
        if message is None:
            self.lacks_capacity = self.schedule.lacks_capacity
            return None
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
        return self.cache.queue(message.queue).blocked_until_ms() <= now_ms

    # What an answer changes

    def done(
        self, message: Message, outcome: Outcome, times: AttemptTimes, now_ms: int, draw: float
    ) -> AttemptEffects:
        """A try has ended: decide, change what is known here, say what is to be written."""
        probe = self._probe == message.id
        lane_queue, rung = self._ended(message), self.cache.rung(message.rung).row
        first = self.open_messages.first_try(message.id)
        if first and only_delivers(outcome, self.circuit, lane_queue.block):
            if lane_queue.ramp:
                self.schedule.delivered(lane_queue)
            after = Next(Move.deliver, message.level)
            result = result_of(self.lane, rung, message, outcome, after, times)
            policy = lane_queue.queue.policy
            if self.keep_bodies_ms or policy.keep_bodies_ms or policy.result_ttl_ms:
                result = with_kept(result, policy, outcome, self.keep_bodies_ms)
            return AttemptEffects(result)
        at = Situation(
            policy=lane_queue.queue.policy,
            rung=rung,
            circuit=self.circuit,
            block=lane_queue.block,
            tries_here=self.open_messages.in_place.tries(message.id) + 1,
            probe=probe,
            started_ms=times.started_ms,
            now_ms=now_ms,
            draw=draw,
        )
        after = self.open_messages.unless_recalled(message.id, decide(message, outcome, at))
        if after.move is Move.deliver:
            self.schedule.delivered(lane_queue)
        self._place(message, after)
        result = result_of(self.lane, rung, message, outcome, after, times)
        return AttemptEffects(
            with_kept(result, at.policy, outcome, self.keep_bodies_ms),
            self._change_queue(lane_queue, after),
            self._change_lane(after, now_ms),
            old_block=at.block,
            old_circuit=at.circuit,
        )

    def abandon(self, message: Message, started_ms: int) -> AttemptEffects | None:
        """A try was stopped from our side, or (0) did not start: it spends nothing. Answers what
        is to be written when the message was to be cancelled."""
        _ = self._ended(message)  # its queue changes nothing here
        rung = self.cache.rung(message.rung)
        if self.open_messages.was_recalled(message.id):
            return cancelled(self.lane, rung.row, message, started_ms)
        rung.forget()  # it lies before the cursor, and must not be overtaken
        if self.open_messages.gives_back(message.id):
            self._settled(message, reread=True)
        return None

    def doubt(self, message: Message) -> AttemptEffects:
        """A try was stopped from our side where a second one is not allowed."""
        _ = self._ended(message)  # its queue changes nothing here
        return interrupted(self.lane, self.cache.rung(message.rung).row, message)

    def _ended(self, message: Message) -> LaneQueue:
        lane_queue = self.cache.queue(message.queue)
        self.open_messages.ended(message.id)
        self._probe = 0 if self._probe == message.id else self._probe
        self.schedule.ended(lane_queue)
        return lane_queue

    def _place(self, message: Message, after: Next) -> None:
        if after.move is Move.again:
            self.open_messages.again(message, after.due_ms)
            return
        self.open_messages.in_place.ended(message.id)
        rung = self.cache.rung(message.rung)
        if rung.ordered and after.move not in (Move.deliver, Move.die, Move.cancel):
            rung.forget()  # the head stays at the head: what was read behind it waits with it
            if after.move in (Move.climb, Move.wait):
                self.cache.due(after.due_ms, message.rung)

    def _change_queue(self, lane_queue: LaneQueue, after: Next) -> QueueChange | None:
        if after.block is not None:
            lane_queue.set_block(after.block)
            self._give_up(lane_queue)
        elif after.unblock:
            lane_queue.set_block(None)
        else:
            return None
        return QueueChange(lane_queue.queue.id, self.lane.id, self.lane.epoch, lane_queue.block)

    def _change_lane(self, after: Next, now_ms: int) -> LaneChange | None:
        old, self.circuit = self.circuit, after.circuit
        if self.circuit == old or not (old.opened or self.circuit.opened):
            return None
        self._unrecorded_changes += 1
        self.early_probe.changed(self.circuit, now_ms)
        if self.circuit.is_open:
            self._give_up_all()
        else:
            for lane_queue in self.cache.queues():
                lane_queue.circuit_closed()
        return self._change()

    def _change(self) -> LaneChange:
        """The lane's circuit and lost leases, to be written."""
        lost, early_ms = self.probation.lost_leases, self.early_probe.at_ms
        return LaneChange(self.lane.id, self.lane.epoch, self.circuit, lost, early_ms)

    def _give_up(self, lane_queue: LaneQueue) -> None:
        """A blocked queue's messages go back to their rungs, also those tried in place."""
        self.schedule.remove(lane_queue)
        self.cache.forget(lane_queue)
        self._leave_all_in_place(lane_queue.queue.id)

    def _give_up_all(self) -> None:
        """All messages go back to their rungs: the lane may not send."""
        self.schedule.clear()
        self.cache.forget(None)
        self._leave_all_in_place(None)

    def _leave_all_in_place(self, queue: int | None) -> None:
        for message in self.open_messages.in_place.give_up(queue):
            self._leave_in_place(message)

    def _leave_in_place(self, message: Message) -> None:
        if self.open_messages.gives_back(message.id):
            self._settled(message)

    def _settled(self, message: Message, *, reread: bool = False) -> None:
        """The store knows all about a message: it may be read again where it is now."""
        self.open_messages.close(message.id)
        self.cache.settled(message, reread=reread)

    def leave(self) -> None:
        """Another process is to have the lane: nothing more is started."""
        self.leaving = True
        self._give_up_all()

    # What the store has taken

    def recorded(self, effects: AttemptEffects) -> LaneChange | None:
        """What a try did is written: its message may be read again where it is now. Answers a
        change when enough went well after a lost lease."""
        result = effects.result
        message = result.message
        if effects.queue or effects.lane:
            self.cache.changed(effects.queue, effects.lane)
        if effects.lane:
            self._unrecorded_changes -= 1
            self._recorded_at_look = self.cache.looks
        if result.move is not Move.again or self.open_messages.written(message.id):
            lane_queue = self.cache.queue(message.queue)
            self._settled(message, reread=self._goes_on(result, lane_queue))
            self.schedule.add(lane_queue)
        return self._change() if self.probation.active and self.probation.went_well() else None

    def _goes_on(self, result: Result, lane_queue: LaneQueue) -> bool:
        """Whether the rung is to be read again now, not only by a look when its time has come."""
        if result.move is Move.hold:
            return False
        if not (result.move in STAYS or self.cache.rung(result.message.rung).ordered):
            return False
        return not (lane_queue.block or self.circuit.is_open)

    # Messages that are to be cancelled

    def recall(self, numbers: Iterable[int]) -> list[int]:
        """Messages are to be cancelled: answers those that can be taken out of the store now, and
        will not start; of each other one the present try is the last."""
        taken: list[int] = []
        for number in numbers:
            found = self.open_messages.recall(number)
            if not found:
                continue
            if isinstance(found, Message):
                self.cache.rung(found.rung).free_head()
            taken.append(number)
        self.cache.withdraw(frozenset(taken))
        return taken

    def withdrawn(self, numbers: list[int]) -> None:
        """Messages are gone from the store, or could not be taken out of it."""
        for number in numbers:
            self.open_messages.withdrawn(number)
        self.cache.withdrawn(numbers)
