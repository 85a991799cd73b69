"""Runners: tasks that carry messages, next → send → decide → record. Read `_serve`."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Final

from msgspec import Struct

from postroad.engine.admission import Admission
from postroad.engine.attempt_effects import AttemptEffects, AttemptTimes
from postroad.engine.delivery_attempt import AttemptDeps, DeliveryAttempt
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.suspect_isolation import SuspectIsolation
from postroad.engine.turnstile import Turnstile
from postroad.engine.waiting_lanes import WaitingLanes
from postroad.model.entities import Message
from postroad.model.ids import to_text
from postroad.model.outcome import Kind, Outcome
from postroad.ports.clock import Chance
from postroad.ports.rules import AnswerRules
from postroad.ports.transport import BEAT

YIELD_AFTER: Final = 64
YIELD_S: Final = 0.001
"""A runner whose handlers never wait lets others run after so many messages, or after so long. By
messages alone, 16 lanes whose handlers compute for 1 ms kept the loop from the bell for a second,
and a second process got no lane meanwhile (decision 135)."""
KEEP_S: Final = 0.01
"""While others wait for its place a lane keeps it for so long, then goes to the end of their line:
handed over after each message of a millisecond, a place cost two tasks a message (decision 144)."""
STAND_BY: Final = 8
"""Free runners beside the line of claimed lanes: they take up lanes while other runners wait."""


class StopSummary(Struct, frozen=True):
    """The tries that were in flight when an engine was stopped, and how many of them were cut."""

    in_hand: int
    cut: int


class Runners:
    """Tasks that serve lanes. A runner takes one message after the other, so that a handler
    that never waits costs no task; one that waits is joined by the next runner."""

    def __init__(
        self,
        deps: AttemptDeps,
        chance: Chance,
        rules: AnswerRules,
        ended: Callable[["asyncio.Task[None]"], None],
        after: Callable[[LaneWorker], None],
    ) -> None:
        self.tasks: dict[asyncio.Task[None], None] = {}
        self.stopping = False
        self.waiting = WaitingLanes(deps.capacity)
        """Lanes that could go on, but this process had no capacity or may not start anything."""
        self._deps = deps
        self._clock = deps.store.clock
        self._capacity = deps.capacity
        self._backoff = deps.backoff
        self._log = deps.log
        self._logs_attempts = deps.log.is_enabled_for(logging.DEBUG)
        self._chance = chance
        self._rules = rules
        self._ended = ended
        self._after = after
        self._latest: asyncio.Task[None] | None = None
        """The runner that went on last."""
        self._starting: set[LaneWorker] = set()
        self._line: deque[LaneWorker] = deque()
        """Lanes that came with a claim, for the next runner that is free."""
        self._standing_by = 0
        self._isolation = SuspectIsolation()
        self._turnstile = Turnstile(deps.capacity, lambda: deps.store.is_read_by_thread)

    def start(self, worker: LaneWorker, now_ms: int) -> bool:
        """Start one more runner for the lane, unless one is about to start; whether one comes."""
        if worker in self._starting:
            return True
        if not self._may_have(worker, now_ms):
            return False
        in_place = worker.open_messages.in_place.waiting  # else it would be woken for them again
        if not (in_place or self.waiting.has_place(worker)):
            self.waiting.add(worker)
            return False
        self._starting.add(worker)
        self._new_task(worker)
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
        """Keep free runners for the line, in case all that serve it have to wait."""
        while self._standing_by < min(STAND_BY, len(self._line)):
            self._standing_by += 1
            self._new_task(None)

    def _new_task(self, worker: LaneWorker | None) -> None:
        # The task is given itself here: asking asyncio for it costs 1 µs a message.
        runner: list[asyncio.Task[None]] = []
        task = asyncio.get_running_loop().create_task(self._run(worker, runner))
        runner.append(task)
        self.tasks[task] = None
        task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Task[None]") -> None:
        self.tasks.pop(task, None)
        self._ended(task)

    async def stop(self, drain_s: float) -> StopSummary:
        """Start nothing more; what does not end in time is cut and spends no attempt."""
        self.stopping = True
        in_hand = self._capacity.taken
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=drain_s)
        cut = self._capacity.taken
        self._deps.deadlines.cut_all(list(self.tasks))
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=drain_s)
        if self.tasks:  # a handler that swallows its cancellation must not hold up the stop
            self._log.error("handlers ignored the stop and still run", count=len(self.tasks))
        self._deps.deadlines.stop()
        return StopSummary(in_hand, cut)

    def serve_waiting(self) -> bool:
        """Serve lanes that found no capacity; True while some still wait."""
        if self.waiting:
            now_ms = self._clock.now_ms()
            self.waiting.start_all(lambda worker: self.start(worker, now_ms))
        return bool(self.waiting)

    async def _run(self, worker: LaneWorker | None, runner: "list[asyncio.Task[None]]") -> None:
        task = runner[0]
        beat = BEAT.set(partial(self._deps.deadlines.extend, task))
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
        """Send one message of the lane after the other, while one may start."""
        self._starting.discard(worker)
        clock, deps = self._clock, self._deps
        admission = Admission(worker, self._capacity, self._isolation, deps.pacing)
        count = 0
        # The end of one is the start of the next: the clock is read once a message.
        now_ms, now_s = clock.now_ms(), clock.steady_s()
        begun_s = yielded_s = now_s
        while (message := self._next(worker, admission, now_ms, now_s)) is not None:
            started_ms, started_s = now_ms, now_s
            _ = self.start(worker, started_ms)  # where none may start, a later change asks again
            self._latest = task
            try:
                attempt = DeliveryAttempt(deps, worker, message, started_ms)
                outcome = await attempt.run(task, started_s)
                now_ms, now_s = clock.now_ms(), clock.steady_s()
                took_s = now_s - started_s
                if not self._turnstile.is_open(took_s):
                    await self._turnstile.wait(worker.lane.key.tenant)
                    now_ms, now_s = clock.now_ms(), clock.steady_s()
            finally:
                admission.ended(message)
            if outcome is not None and outcome.kind is not Kind.delivered:
                lane = worker.lane
                outcome = await self._rules.apply(lane.key, lane.id, message, outcome)
                now_ms, now_s = clock.now_ms(), clock.steady_s()
            if outcome is not None:
                times = AttemptTimes(started_ms, round(took_s * 1000))
                self._decide(worker, message, outcome, times, now_ms)
            count += 1
            if self._latest is not task:
                yielded_s = now_s  # others went on while this one waited
            kept = now_s - begun_s < KEEP_S
            if not kept and self.waiting and self.waiting.any_may_start():
                # Others have waited for this place: this lane goes to the end of its line.
                self.waiting.allow_handovers()
                self.waiting.add(worker)
                break
            if count % YIELD_AFTER == 0 or now_s - yielded_s >= YIELD_S:
                if worker in self._starting:
                    break  # the runner that is about to start goes on
                await clock.sleep(0)
                now_ms, now_s = clock.now_ms(), clock.steady_s()
                yielded_s = now_s
        if self.waiting:
            self.waiting.hand_over(lambda other: self.start(other, now_ms))
        self._after(worker)

    def _decide(
        self,
        worker: LaneWorker,
        message: Message,
        outcome: Outcome,
        times: AttemptTimes,
        now_ms: int,
    ) -> None:
        if self._capacity.reduced_pools and outcome.answered:
            self._backoff.succeeded(worker)
        worker.answered = outcome.answered
        effects = worker.done(message, outcome, times, now_ms, self._chance.random())
        if self._logs_attempts:
            self._log_attempt(effects)
        self._deps.put(worker, effects)

    def _next(
        self, worker: LaneWorker, admission: Admission, now_ms: int, now_s: float
    ) -> Message | None:
        resting = self._backoff.resting and self._backoff.is_resting(worker, now_s)
        if resting or not self._deps.may_start(now_s):
            self.waiting.add(worker)
            return None
        message = admission.next(now_ms)
        refused = message is None and worker.lacks_capacity
        if refused and (admission.lacked_capacity or not admission.lacked_slot):
            self.waiting.add(worker)  # one that lacks nothing but a slot is woken for it
        return message

    def _log_attempt(self, effects: AttemptEffects) -> None:
        result = effects.result
        self._log.debug(
            "attempt",
            retry_level=result.message.level,
            message=to_text(result.message.id),
            outcome=result.kind,
            error=result.error,
            took_ms=result.took_ms,
        )
