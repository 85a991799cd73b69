"""Runners: the way of messages, next → send → decide → record. Read `_run`."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Final

from postroad.engine.admission import Admission
from postroad.engine.attempt_effects import AttemptEffects, AttemptTimes
from postroad.engine.capacity import Capacity
from postroad.engine.deadlines import Deadlines
from postroad.engine.descriptor_backoff import DescriptorBackoff
from postroad.engine.lane_pacing import LanePacing
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.sessions import Sessions
from postroad.engine.suspect_isolation import SuspectIsolation
from postroad.engine.waiting_lanes import WaitingLanes
from postroad.model.entities import Message, Policy
from postroad.model.errors import BadKey, Shortage, StoreError
from postroad.model.ids import to_text
from postroad.model.keyring import KeyRing
from postroad.model.outcome import Outcome, failed, unknown, unreachable
from postroad.model.private_headers import PACKED_MARK, opened
from postroad.ports.clock import Chance
from postroad.ports.entropy import secret_bytes
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.ports.transport import BEAT, HearsCuts, Lingers, Prepares, Session

YIELD_AFTER: Final = 64
"""A runner whose handlers never wait lets others run after so many messages."""
STAND_BY: Final = 8
"""Runners that wait beside a line: sends that wait are taken up by so many at a time."""
NOTE_RETRY_S: Final = 1.0


class Attempt:
    """How far one try has come."""

    __slots__ = ("noted", "sent", "session", "slot_s", "started_ms")

    def __init__(
        self, sent: Message, started_ms: int, slot_s: float | None, *, noted: bool
    ) -> None:
        self.sent = sent
        """The message with its headers in clear; what is recorded is the stored one."""
        self.started_ms = started_ms
        self.slot_s = slot_s
        """When it may start; None where nothing limits it."""
        self.noted = noted
        """Its start is written down before it is made."""
        self.session: Session | None = None
        """Set when it may have left."""


class Runners:
    """Tasks that serve lanes. A runner takes one message after the other, so that a handler
    that never waits costs no task; one that waits is joined by the next runner."""

    def __init__(self, store: Store, owner: int, room: Capacity, sessions: Sessions) -> None:
        self.tasks: dict[asyncio.Task[None], None] = {}
        self.stopping = False
        self.ring = KeyRing((), secret_bytes)
        """Opens headers that are sealed; the road gives its own."""
        self._store = store
        self._clock = store.clock
        self._owner = owner
        self._room = room
        self._sessions = sessions
        self._deadlines = Deadlines(store.clock)
        self._starting: set[LaneWorker] = set()
        self._line: deque[LaneWorker] = deque()
        """Lanes that came with a claim, for the next runner that is free."""
        self._standing_by = 0
        self._quarantine = SuspectIsolation()
        self.starved = WaitingLanes(room)
        """Lanes that could go on, but this process had no room or must not start anything."""

    def join(
        self,
        chance: Chance,
        log: Log,
        may_start: Callable[[float], bool],
        put: Callable[[LaneWorker, AttemptEffects], None],
        ended: Callable[["asyncio.Task[None]"], None],
        after: Callable[[LaneWorker], None],
        paced: LanePacing,
    ) -> None:
        """What a runner is told and tells: set once, before the first one starts."""
        self._paced = paced
        self._chance = chance
        self._log = log
        self._shortages = DescriptorBackoff(self._room, self._clock, log)
        self._logs_attempts = log.is_enabled_for(logging.DEBUG)
        self._may_start = may_start
        self._put = put
        self._ended = ended
        self._after = after

    def start(self, worker: LaneWorker, now_ms: int) -> bool:
        """One more runner for the lane, unless one is about to start anyway; whether one comes."""
        if worker in self._starting:
            return True
        if not self._may_have(worker, now_ms):
            return False
        self._starting.add(worker)
        self._employ(worker)
        return True

    def line_up(self, worker: LaneWorker, now_ms: int) -> bool:
        """As `start`, for one of the many lanes of a claim: a runner whose sends never wait takes
        up one after the other, and a lane with one message costs no task."""
        if not self._may_have(worker, now_ms):
            return False
        self._starting.add(worker)
        self._line.append(worker)
        self._stand_by()
        return True

    def _may_have(self, worker: LaneWorker, now_ms: int) -> bool:
        return not (self.stopping or worker.stopped) and worker.startable(now_ms)

    def _stand_by(self) -> None:
        """Somebody takes up the next of the line, should all who are at it have to wait."""
        while self._standing_by < min(STAND_BY, len(self._line)):
            self._standing_by += 1
            self._employ(None)

    def _employ(self, worker: LaneWorker | None) -> None:
        # The task is told its own name here: asking asyncio for it costs 1 µs a message.
        runner: list[asyncio.Task[None]] = []
        task = asyncio.get_running_loop().create_task(self._run(worker, runner))
        runner.append(task)
        self.tasks[task] = None
        task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Task[None]") -> None:
        self.tasks.pop(task, None)
        self._ended(task)

    async def stop(self, drain_s: float) -> None:
        """Start nothing more; what does not end in time is cut and spends no attempt."""
        self.stopping = True
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=drain_s)
        for task in list(self.tasks):
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=drain_s)
        if self.tasks:  # a handler that swallows its cancellation must not hold up the stop
            self._log.error("stopped beside handlers that would not", count=len(self.tasks))
        self._deadlines.stop()

    def serve_starved(self) -> bool:
        """There may be room again for lanes that found none; True while some still do not."""
        if self.starved:
            now_ms = self._clock.now_ms()
            self.starved.serve(lambda worker: self.start(worker, now_ms))
        return bool(self.starved)

    async def _run(self, worker: LaneWorker | None, runner: "list[asyncio.Task[None]]") -> None:
        task = runner[0]
        beat = BEAT.set(partial(self._deadlines.extend, task))
        if worker is not None:
            await self._serve(worker, task)
        else:
            self._standing_by -= 1
            await self._serve_line(task)
        BEAT.reset(beat)  # the task's context would keep the task until the collector comes

    async def _serve_line(self, task: "asyncio.Task[None]") -> None:
        count, before = 0, copy_context()
        while self._line:
            worker = self._line.popleft()
            self._stand_by()
            await self._serve(worker, task)
            if copy_context() != before:
                return  # a handler left something in the context that is not for other lanes
            count += 1
            if count % YIELD_AFTER == 0:
                await self._clock.sleep(0)

    async def _serve(self, worker: LaneWorker, task: "asyncio.Task[None]") -> None:
        """One message of the lane after the other, while one may start."""
        self._starting.discard(worker)
        clock = self._clock
        admission = Admission(worker, self._room, self._quarantine, self._paced)
        count = 0
        # The end of one is the start of the next: the clock is read once a message.
        now_ms, now_s = clock.now_ms(), clock.steady_s()
        while (message := self._next(worker, admission, now_ms, now_s)) is not None:
            started_ms, started_s = now_ms, now_s
            _ = self.start(worker, started_ms)  # where none may start, a later change asks again
            try:
                outcome = await self._send(worker, message, started_ms, started_s, task)
            finally:
                admission.ended(message)
            now_ms, now_s = clock.now_ms(), clock.steady_s()
            if outcome is not None:
                if self._room.short and outcome.answered:
                    self._shortages.sent(worker)
                worker.answered = outcome.answered
                attempt = AttemptTimes(started_ms, round((now_s - started_s) * 1000))
                verdict = worker.done(message, outcome, attempt, now_ms, self._chance.random())
                if self._logs_attempts:
                    self._log_attempt(verdict)
                self._put(worker, verdict)
            count += 1
            if self.starved and self.starved.may_go():
                # Others have waited for this place: to the end of the line.
                self.starved.all_may_pass()
                self.starved.add(worker)
                break
            if count % YIELD_AFTER == 0:
                await clock.sleep(0)
                now_ms, now_s = clock.now_ms(), clock.steady_s()
        if self.starved:
            self.starved.pass_on(lambda waits: self.start(waits, now_ms))
        self._after(worker)

    def _next(
        self, worker: LaneWorker, admission: Admission, now_ms: int, now_s: float
    ) -> Message | None:
        if not self._may_start(now_s) or (
            self._shortages.lacked and self._shortages.rests(worker, now_s)
        ):
            self.starved.add(worker)
            return None
        message = admission.next(now_ms)
        if (
            message is None
            and worker.lacks_capacity
            and (admission.crowded or not admission.unpaced)
        ):
            self.starved.add(worker)  # one that lacks nothing but a slot is woken for it
        return message

    async def _send(
        self,
        worker: LaneWorker,
        message: Message,
        started_ms: int,
        started_s: float,
        task: "asyncio.Task[None]",
    ) -> Outcome | None:
        """One try, cut at its deadline; None when it did not take place."""
        queue = worker.cache.queue(message.queue).queue
        policy = queue.policy
        slot_s = self._paced.take(worker, queue) if queue.ledgers else None
        noted = worker.probation.active or policy.at_most_once
        attempt = Attempt(message, started_ms, slot_s, noted=noted)
        self._deadlines.start(task, policy.timeout_ms / 1000, started_s)
        outcome: Outcome | None = None
        try:
            if PACKED_MARK in message.headers:
                attempt.sent = opened(message, queue, self.ring)
            if not attempt.noted and slot_s is None:
                attempt.session = self._sessions.get(worker.lane.id)
            if attempt.session is None:
                outcome = await self._prepare(worker, message, attempt)
            if attempt.session is not None:
                outcome = await attempt.session.send(queue, attempt.sent)
        except asyncio.CancelledError:
            if self._deadlines.end(task):
                return self._overdue(worker, message, attempt, policy)
            await self._interrupted(worker, message, attempt, once=policy.at_most_once)
            raise
        except Shortage as error:
            outcome = self._shortages.lacking(worker, error)
        except Exception as error:  # noqa: BLE001 - whatever a transport raises is an outcome
            outcome = self._raised(error, attempt)
        _ = self._deadlines.end(task)  # cut in the last moment: it has ended all the same
        return outcome

    def _raised(self, error: Exception, attempt: Attempt) -> Outcome:
        if attempt.session is not None:
            self._log.error("a transport raised", exc_info=error)
            return failed(f"{type(error).__name__}: {error}")
        if isinstance(error, BadKey):
            # Its own fault alone: neither its queue nor its lane is to wait for it.
            return failed(f"its headers cannot be opened: {error}", answered=False)
        raise error

    def _overdue(
        self, worker: LaneWorker, message: Message, attempt: Attempt, policy: Policy
    ) -> Outcome:
        """It was cut at its deadline."""
        limit_s = policy.timeout_ms / 1000
        if attempt.session is None:
            return unreachable(f"no session within {limit_s:g} s")
        self._linger(worker, message, attempt.session)
        late = attempt.session.overdue(limit_s)
        late = unknown(f"cut after {limit_s:g} s") if policy.at_most_once else late
        if isinstance(attempt.session, HearsCuts):
            attempt.session.cut(message, late)
        return late

    async def _interrupted(
        self, worker: LaneWorker, message: Message, attempt: Attempt, *, once: bool
    ) -> None:
        """A stop cut this try: it spends no attempt, and is no lost lease."""
        if attempt.session is not None:
            self._linger(worker, message, attempt.session)
            if once:
                self._put(worker, worker.doubt(message))
                return
        await self._not_started(worker, message, attempt)

    async def _prepare(
        self, worker: LaneWorker, message: Message, attempt: Attempt
    ) -> Outcome | None:
        """Note the start, open the session, await the slot, where that is still to be done: then
        there is a session to send by. Otherwise answers what became of the try."""
        lane = worker.lane
        try:
            if attempt.noted and not await self._store.mark(self._owner, lane, [message.id]):
                self._abandon(worker, message, attempt)  # the lane is not ours any more
                return None
        except StoreError as error:
            self._log.warning("nothing is sent that cannot be noted", error=str(error))
            await self._not_started(worker, message, attempt)
            return None
        queue, told = worker.cache.queue(message.queue).queue, None
        try:
            session = self._sessions.get(lane.id) or await self._sessions.open(lane.id, lane.key)
            if attempt.slot_s is not None and isinstance(session, Prepares):
                # What is prepared before a slot's time does not make the start late.
                told = await session.prepare(queue, attempt.sent)
        except Exception as error:  # noqa: BLE001 - a server that cannot be reached
            lacks = Shortage.of(error)
            return (
                self._shortages.lacking(worker, lacks)
                if lacks
                else unreachable(f"no session: {error}")
            )
        if told is not None:
            return told
        late = attempt.slot_s is not None and not await self._paced.on_time(attempt.slot_s)
        may_go = worker.may_go(message, self._clock.now_ms())
        if late or not may_go or not self._may_start(self._clock.steady_s()):
            # While the start was noted, the session opened or the slot awaited, the lease may have
            # been lost, the message been cancelled or expired, or its queue been blocked.
            await self._not_started(worker, message, attempt)
            return None
        attempt.session = session
        return None

    async def _not_started(self, worker: LaneWorker, message: Message, attempt: Attempt) -> None:
        """It was not sent after all: a note that it was would make it suspect for ever."""
        while attempt.noted:
            try:
                await self._store.unmark([message.id])
                break
            except StoreError:
                await self._clock.sleep(NOTE_RETRY_S)
        self._abandon(worker, message, attempt)

    def _abandon(self, worker: LaneWorker, message: Message, attempt: Attempt) -> None:
        begun = attempt.session is not None
        verdict = worker.abandon(message, attempt.started_ms if begun else 0)
        if verdict is not None:
            self._put(worker, verdict)

    def _linger(self, worker: LaneWorker, message: Message, session: Session) -> None:
        """What goes on after its try was cut keeps its place until it ends."""
        rest = session.remains(message.id) if isinstance(session, Lingers) else None
        if rest is None:
            return
        key, started_s = worker.lane.key, self._clock.steady_s()
        pool, tenant = key.pool, key.tenant
        self._room.take(message.level, pool, tenant)
        log, facts = self._log, {"pool": pool, "message": to_text(message.id)}
        taken = self._room.taken
        log.warning("cut, but its thread runs on and keeps its place", taken=taken, **facts)

        def ended(_rest: "asyncio.Future[None]") -> None:
            self._room.give(message.level, pool, tenant)
            took_s = self._clock.steady_s() - started_s
            log.warning("a thread ended after it was cut", s=took_s, **facts)
            _ = self.serve_starved()  # where none may start, a later change asks again

        rest.add_done_callback(ended)

    def _log_attempt(self, verdict: AttemptEffects) -> None:
        result = verdict.result
        self._log.debug(
            "attempt",
            retry_level=result.message.level,
            message=to_text(result.message.id),
            outcome=result.kind,
            error=result.error,
            took_ms=result.took_ms,
        )
