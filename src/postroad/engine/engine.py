"""The engine: joins pollers, lane workers, transports and recorder. Read `_run` for the way
of a message once its lane is claimed."""

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterable, Sequence
from functools import partial

from structlog.typing import FilteringBoundLogger

from postroad.engine.deadlines import Deadlines
from postroad.engine.janitor import Janitor
from postroad.engine.lane import Attempt, LaneWorker, Verdict
from postroad.engine.limits import Limits
from postroad.engine.poller import Pollers
from postroad.engine.reader import Reader
from postroad.engine.recorder import Recorder
from postroad.engine.room import Room
from postroad.engine.sessions import Sessions
from postroad.model.errors import StoreError
from postroad.model.outcome import Outcome, failed, unreachable
from postroad.model.record import Claim, Release
from postroad.model.states import NEVER
from postroad.model.words import Lane, Message
from postroad.ports.clock import Chance, Timer
from postroad.ports.store import Store
from postroad.ports.transport import Transport

YIELD_AFTER = 64
"""A runner whose handlers never wait lets others run after so many messages."""
TICK_S = 0.5
RELEASE_BATCH = 1_000


class Engine:
    """One owner of lanes: claims them, sends their messages, records what came of it."""

    def __init__(
        self,
        store: Store,
        transports: dict[str, Transport],
        owner: int,
        limits: Limits,
        chance: Chance,
        log: FilteringBoundLogger,
    ) -> None:
        self.owner = owner
        self.limits = limits
        self.lanes: dict[int, LaneWorker] = {}
        self._store = store
        self._clock = store.clock
        self._chance = chance
        self._log = log
        self._pools = sorted({pool for t in transports.values() for pool in t.pools()})
        concurrency = {p: t.concurrency(p) for t in transports.values() for p in t.pools()}
        self.room = Room(limits, concurrency)
        self.sessions = Sessions(transports)
        self.recorder = Recorder(store, owner, limits, log, self._recorded, self._forget)
        self.reader = Reader(store, log, self._pump, self.recorder.put)
        self._calm = asyncio.Event()
        self.pollers = Pollers(store, limits, log, self._claim, self._calm.set)
        self.janitor = Janitor(store, owner, limits, log)
        self._deadlines = Deadlines(self._clock)
        self._timers: dict[int, tuple[int, Timer]] = {}
        self._quiet: dict[int, int] = {}
        self._starved: deque[LaneWorker] = deque()
        self._starting: set[int] = set()
        self._runners: dict[asyncio.Task[None], None] = {}
        self._loops: list[asyncio.Task[None]] = []
        self._stopping = False
        self._stop_asked = asyncio.Event()
        self._broken: BaseException | None = None
        self._claiming = asyncio.Lock()
        self._doubtful = False
        self._room_free = asyncio.Event()
        self._unsettled = asyncio.Event()

    # Life

    def start(self) -> None:
        """Begin: hear the bell, poll all levels, serve lanes."""
        self._store.bell.listen(self.owner, self)
        self._spawn(self.recorder.run(), "recorder")
        self._spawn(self.reader.run(), "reader")
        self._spawn(self.janitor.run_sweep(), "sweep")
        self._spawn(self.janitor.run_retention(), "retention")
        self._spawn(self.janitor.run_beat(lambda: bool(self.lanes), self._forget_all), "beat")
        self._spawn(self._tick(), "tick")
        for poller in self.pollers.levels:
            self._spawn(self.pollers.run_level(poller.level), f"poller {poller.level}")
        self._spawn(self.pollers.run_safety(), "safety poll")

    def _spawn(self, loop: Coroutine[object, object, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(loop, name=f"postroad {name}")
        task.add_done_callback(self._loop_ended)
        self._loops.append(task)

    def _loop_ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and task.exception() is not None:
            # A loop that dies silently stops deliveries for ever: the whole run ends with it.
            self._log.error("the engine broke", loop=task.get_name(), exc_info=task.exception())
            self._broken = task.exception()
            self._calm.set()
            self._stop_asked.set()

    async def until_stopped(self) -> None:
        """Wait for `ask_to_stop`; raises when the engine itself breaks."""
        await self._stop_asked.wait()
        if self._broken is not None:
            raise self._broken

    def ask_to_stop(self) -> None:
        """The run is to end."""
        self._stop_asked.set()

    async def stop(self) -> None:
        """Start nothing more, wait for what is in flight, then give everything back. What does
        not end in time is stopped and spends no attempt."""
        self._stopping = True
        self._store.bell.leave(self.owner)
        if self._runners:
            await asyncio.wait(self._runners, timeout=self.limits.drain_s)
        for task in list(self._runners):
            task.cancel()
        if self._runners:
            await asyncio.wait(self._runners)
        await self.recorder.settled()
        for task in self._loops:
            task.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        self._deadlines.stop()
        for _, timer in self._timers.values():
            timer.cancel()
        await self._release(list(self.lanes.values()))
        await self.sessions.close_all()

    async def until_idle(self) -> None:
        """Wait until nothing is due, in flight or unrecorded; what waits for later stays."""
        while self._broken is None:
            self._calm.clear()
            if self._is_calm():
                await self.pollers.drain(range(len(self.pollers.levels)))
                if self._is_calm():
                    return
            await self._calm.wait()
        raise self._broken

    def _is_calm(self) -> bool:
        busy = self._runners or self.recorder.unrecorded or self.pollers.claiming
        return not busy and all(lane.quiet for lane in self.lanes.values())

    # What the bell says

    def on_ready(self, level: int, at_ms: int) -> None:
        """An unowned lane has something at this level, from that time on."""
        self.pollers.ring(level, at_ms)
        self.janitor.watch()

    def on_lane(self, lane: int, rung: int, due_ms: int) -> None:
        """A lane of ours got a message, or something of it changed."""
        worker = self.lanes.get(lane)
        if worker is not None:
            worker.ahead.ring(rung, due_ms, self._clock.now_ms())
            self._pump(worker)

    def on_expiry(self, at_ms: int) -> None:
        """Something expires then."""
        self.janitor.expect(at_ms)

    # Lanes: claimed, kept while they have work, given back

    async def _claim(self, levels: Sequence[int]) -> Claim:
        while self._stopping or len(self._pending()) >= self.limits.room:
            self._room_free.clear()
            await self._room_free.wait()
        async with self._claiming:
            if self._doubtful:
                # A lane may be ours in the store and unknown here: nobody would serve it.
                await self._store.disown(self.owner, list(self.lanes))
            self._doubtful = True
            batch = self.limits.claim_batch
            claim = await self._store.claim(self.owner, levels, self._pools, batch)
            self._doubtful = False
            if claim.owned:
                self.janitor.watch()
            for lane in claim.lanes:
                self._adopt(lane)
        return claim

    def _pending(self) -> set[int]:
        return self.lanes.keys() - self._quiet.keys()

    def _adopt(self, lane: Lane) -> None:
        old = self.lanes.get(lane.id)
        if old is not None:
            self._drop(old)  # it was taken from us and came back before we were told
        worker = LaneWorker(lane, self.limits)
        self.lanes[lane.id] = worker
        self._quiet.pop(lane.id, None)
        self._log.debug("lane claimed", lane=lane.key.server, epoch=lane.epoch)
        self._pump(worker)

    async def _tick(self) -> None:
        """While there is reason to: give back lanes that had nothing to do for a while, and
        try again those that found no room."""
        while True:
            await self._unsettled.wait()
            self._unsettled.clear()
            await self._clock.sleep(TICK_S)
            for _ in range(len(self._starved)):
                self._serve_starved()
            before_ms = self._clock.now_ms() - self.limits.linger_ms
            idle = [
                self.lanes[number]
                for number, since_ms in self._quiet.items()
                if since_ms <= before_ms and self.lanes[number].quiet
            ]
            if idle:
                await self._release(idle[:RELEASE_BATCH])
            if self._quiet or self._starved:
                self._unsettled.set()

    async def _release(self, workers: list[LaneWorker]) -> None:
        for worker in workers:
            worker.stopped = True
            self._drop(worker)
            await self.sessions.close(worker.lane.id)
        if not workers:
            return
        try:
            lanes = [Release(worker.lane.id, worker.lane.epoch) for worker in workers]
            await self._store.release(self.owner, lanes)
        except StoreError as error:
            self._doubtful = True
            self._log.warning("lanes could not be given back", error=str(error))

    def _drop(self, worker: LaneWorker) -> None:
        number = worker.lane.id
        worker.stopped = True
        if self.lanes.get(number) is worker:
            del self.lanes[number]
        self._quiet.pop(number, None)
        _, timer = self._timers.pop(number, (0, None))
        if timer is not None:
            timer.cancel()

    def _forget(self, lane: int) -> None:
        """The store says that this lane is not ours any more."""
        worker = self.lanes.get(lane)
        if worker is not None:
            self._log.warning("lane was taken over", lane=worker.lane.key.server)
            self._drop(worker)

    def _forget_all(self) -> None:
        """A peer declared this owner dead: nothing is ours any more."""
        for lane in list(self.lanes):
            self._forget(lane)

    # A lane's next steps

    def _pump(self, worker: LaneWorker) -> None:
        """Something changed for this lane: ask for what it lacks, start what can go."""
        if worker.stopped:
            self._calm.set()
            return
        now_ms = self._clock.now_ms()
        self.reader.ask(worker, worker.look(now_ms), worker.wants(now_ms))
        if worker.startable(now_ms):
            self._start_runner(worker)
        self._settle(worker, now_ms)

    def _settle(self, worker: LaneWorker, now_ms: int) -> None:
        """Note whether the lane has anything to do, and when it next has."""
        number = worker.lane.id
        if worker.quiet:
            self._quiet.setdefault(number, now_ms)
            self._unsettled.set()
            self._calm.set()
            self._room_free.set()
        else:
            self._quiet.pop(number, None)
        self._arm(worker, number, now_ms)

    def _arm(self, worker: LaneWorker, number: int, now_ms: int) -> None:
        wake_ms = worker.wake_at_ms()
        armed_ms, timer = self._timers.get(number, (NEVER, None))
        if wake_ms == armed_ms:
            return
        if timer is not None:
            timer.cancel()
            del self._timers[number]
        if wake_ms < NEVER:
            later = self._clock.later(max(1, wake_ms - now_ms), partial(self._wake, worker))
            self._timers[number] = (wake_ms, later)

    def _wake(self, worker: LaneWorker) -> None:
        self._timers.pop(worker.lane.id, None)
        self._pump(worker)

    def _may_start(self) -> bool:
        full = self.recorder.unrecorded >= self.limits.unrecorded_max
        return not (self._stopping or full or self.janitor.beat_is_stale)

    def _start_runner(self, worker: LaneWorker) -> None:
        """One more runner for the lane, unless one is about to start anyway."""
        number = worker.lane.id
        if number in self._starting or self._stopping:
            return
        self._starting.add(number)
        # The task is told its own name here: asking asyncio for it costs 1 µs a message.
        runner: list[asyncio.Task[None]] = []
        task = asyncio.get_running_loop().create_task(self._run(worker, runner))
        runner.append(task)
        self._runners[task] = None
        task.add_done_callback(self._runner_ended)

    def _runner_ended(self, task: "asyncio.Task[None]") -> None:
        self._runners.pop(task, None)
        self._calm.set()
        if not task.cancelled() and task.exception() is not None:
            self._loop_ended(task)

    async def _run(self, worker: LaneWorker, runner: "list[asyncio.Task[None]]") -> None:
        """The way of messages: next → send → decide → record, until the lane has none to start."""
        self._starting.discard(worker.lane.id)
        count = 0
        while (message := self._next(worker)) is not None:
            if worker.startable(self._clock.now_ms()):
                self._start_runner(worker)
            started_ms = self._clock.now_ms()
            started_s = self._clock.steady_s()
            outcome = await self._send(worker, message, runner[0])
            self.room.give(message.level, worker.lane.key.pool)
            self._serve_starved()
            if outcome is not None:
                took_ms = round((self._clock.steady_s() - started_s) * 1000)
                now_ms = self._clock.now_ms()
                attempt = Attempt(started_ms, took_ms)
                verdict = worker.done(message, outcome, attempt, now_ms, self._chance.random())
                self._log_verdict(verdict)
                self.recorder.put(worker, verdict)
            count += 1
            if count % YIELD_AFTER == 0:
                await asyncio.sleep(0)
        if not worker.stopped:
            # No new runner from here: whoever makes something startable starts one.
            now_ms = self._clock.now_ms()
            self.reader.ask(worker, worker.look(now_ms), worker.wants(now_ms))
            self._settle(worker, now_ms)

    def _next(self, worker: LaneWorker) -> Message | None:
        if not self._may_start():
            self._starve(worker)
            return None
        pool = worker.lane.key.pool
        message = worker.next(self._clock.now_ms(), lambda level: self.room.admits(level, pool))
        if message is not None:
            self.room.take(message.level, pool)
        elif worker.starved:
            self._starve(worker)
        return message

    def _starve(self, worker: LaneWorker) -> None:
        if worker not in self._starved:
            self._starved.append(worker)
            self._unsettled.set()

    def _serve_starved(self) -> None:
        """There is room again for one that found none."""
        self._room_free.set()
        if self._starved:
            self._pump(self._starved.popleft())

    def _recorded(self, workers: Iterable[LaneWorker]) -> None:
        for worker in workers:
            self._pump(worker)
        for _ in range(len(self._starved)):
            self._serve_starved()

    async def _send(
        self, worker: LaneWorker, message: Message, task: "asyncio.Task[None]"
    ) -> Outcome | None:
        """One try; None when it did not take place."""
        queue = worker.ahead.turns[message.queue].queue
        once = queue.policy.at_most_once
        if (worker.marking or once) and not await self._mark(worker, message):
            worker.abandon(message)
            return None
        session = self.sessions.get(worker.lane.id)
        try:
            if session is None:
                session = await self.sessions.open(worker.lane.id, worker.lane.key)
        except Exception as error:  # noqa: BLE001 - a server that cannot be reached
            return unreachable(f"no session: {error}")
        if worker.stopped or not self._may_start():
            worker.abandon(message)  # while the session was opened the lease may have been lost
            return None
        limit_s = queue.policy.timeout_ms / 1000
        self._deadlines.start(task, limit_s)
        try:
            outcome = await session.send(queue, message)
        except asyncio.CancelledError:
            if self._deadlines.end(task):
                return session.overdue(limit_s)
            await self._give_back(worker, message, once=once)
            raise
        except Exception as error:  # noqa: BLE001 - a fault in a transport is a failed try
            self._log.error("a transport raised", exc_info=error)
            outcome = failed(f"{type(error).__name__}: {error}")
        if self._deadlines.end(task):
            # It was cut and had its answer in the same moment: the answer counts.
            self._log.debug("an answer came with its deadline", retry_level=message.level)
        return outcome

    async def _give_back(self, worker: LaneWorker, message: Message, *, once: bool) -> None:
        """A stop cut this try: it spends no attempt, and is no lost lease."""
        if once:
            self.recorder.put(worker, worker.doubt(message))
            return
        worker.abandon(message)
        if worker.marking:
            await self._store.unmark([message.id])

    async def _mark(self, worker: LaneWorker, message: Message) -> bool:
        try:
            ours = await self._store.mark(self.owner, worker.lane, [message.id])
        except StoreError as error:
            self._log.warning("nothing is sent that cannot be noted", error=str(error))
            await self._clock.sleep(1.0)
            return False
        if not ours:
            self._forget(worker.lane.id)
        return ours

    def _log_verdict(self, verdict: Verdict) -> None:
        result = verdict.result
        self._log.debug(
            "attempt",
            retry_level=result.message.level,
            message=result.message.id,
            outcome=result.kind,
            error=result.error,
            took_ms=result.took_ms,
        )
