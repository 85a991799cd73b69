"""Engine: makes the parts and joins them: pollers, claims, lanes, runners, reader, recorder."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from functools import partial
from typing import Final

from postroad.engine.busy_lanes import BusyLanes
from postroad.engine.capacity import Capacity
from postroad.engine.deadlines import Deadlines
from postroad.engine.delivery_attempt import AttemptDeps
from postroad.engine.descriptor_backoff import DescriptorBackoff
from postroad.engine.engine_log import EngineLog
from postroad.engine.janitor import Janitor
from postroad.engine.lane_claims import LaneClaims
from postroad.engine.lane_pacing import LanePacing
from postroad.engine.lane_reader import LaneReader
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.owned_lanes import OwnedLanes
from postroad.engine.poller import Pollers
from postroad.engine.recaller import Recaller
from postroad.engine.recorder import Recorder
from postroad.engine.runners import Runners, StopSummary
from postroad.engine.sessions import Sessions
from postroad.model.errors import StoreError
from postroad.model.facts import LaneWindow
from postroad.model.keyring import KeyRing
from postroad.model.limits import Limits
from postroad.model.record import Claim
from postroad.observe.figures import FigureGatherer
from postroad.observe.tasks import Tasks
from postroad.ports.bell import LEAVE
from postroad.ports.clock import Chance
from postroad.ports.log import Log
from postroad.ports.pace import Pace
from postroad.ports.store import Store
from postroad.ports.transport import Stops, Transport
from postroad.rules.rule_book import RuleBook

CLOSE_S: Final = 1.0
"""How long `close` waits for runners that did not end with `stop`."""


class Engine:
    """One owner of lanes: claims them, sends their messages, records the results."""

    def __init__(
        self,
        store: Store,
        transports: dict[str, Transport],
        owner: int,
        limits: Limits,
        chance: Chance,
        log: Log,
        pace: Pace,
        keys: KeyRing,
    ) -> None:
        self.owner = owner
        self.limits = limits
        self._store = store
        self._log = log
        self._pace = pace
        self.figures = figures = FigureGatherer(store, store.clock, log)
        self._loops: list[asyncio.Task[None]] = []
        self._claimers: list[asyncio.Task[None]] = []
        self._pacing_task: asyncio.Task[None] | None = None
        self._stop_asked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._broken: BaseException | None = None
        self._began_s = 0.0
        self._tasks = Tasks(log, self.broke)
        pools = {pool: t.concurrency(pool) for t in transports.values() for pool in t.pools()}
        self._pools = sorted(pools)
        capacity = Capacity(limits, pools)
        self._sessions = sessions = Sessions(transports, limits.in_flight_max, log)
        busy_lanes = BusyLanes(limits.in_flight_max, self._claim_again)
        self._events = events = EngineLog(store, log)
        self.owned = owned = OwnedLanes(
            store, owner, limits, sessions, busy_lanes, events, self._pump
        )
        self.janitor = Janitor(store, owner, limits, events)
        self.recorder = Recorder(store, owner, limits, events, figures, self._recorded, owned.lost)
        self._recaller = Recaller(store, owner, log, self._pump, self._stop_try)
        self._reader = LaneReader(store, log, self._pump, self.recorder.put)
        self._deadlines = Deadlines(store.clock)
        self._pacing = LanePacing(pace, limits.window, self._slot_came)
        deps = AttemptDeps(
            store=store,
            owner=owner,
            sessions=sessions,
            deadlines=self._deadlines,
            pacing=self._pacing,
            capacity=capacity,
            backoff=DescriptorBackoff(capacity, store.clock, log),
            keys=keys,
            log=log,
            events=events,
            may_start=self._may_start,
            put=self.recorder.put,
            capacity_freed=self._capacity_freed,
        )
        self.rules = RuleBook(store, log)
        self._runners = Runners(deps, chance, self.rules, self._runner_ended, self._rest)
        take_in, start = self._reader.take_in, self._runners.line_up
        self._claims = LaneClaims(store, owner, limits, owned, take_in, start, self._pump)
        self.pollers = Pollers(store, limits, log, self._claim, owned.calm.set)

    @property
    def lanes(self) -> dict[int, LaneWorker]:
        """The lanes that this engine owns now."""
        return self.owned.lanes

    def sends(self, number: int) -> bool:
        """Whether a try of this message is under way here."""
        return any(lane.open_messages.is_in_flight(number) for lane in self.lanes.values())

    def age_s(self) -> float:
        """How long it has run."""
        return self._store.clock.steady_s() - self._began_s

    def window(self, lane: int) -> LaneWindow | None:
        """The window of a lane; None if another process serves it, or none."""
        worker = self.lanes.get(lane)
        return None if worker is None else LaneWindow(worker.in_flight, worker.schedule.window)

    def in_flight(self) -> list[int]:
        """The messages of which a try is under way here."""
        every = [lane.open_messages for lane in self.lanes.values()]
        return [number for each in every for number in each.ids if each.is_in_flight(number)]

    def last_tries(self, numbers: Collection[int]) -> set[int]:
        """Those of these messages, which are to be cancelled, that are on their last try here."""
        return {
            number
            for lane in self.lanes.values()
            if lane.open_messages.any_recalled
            for number in numbers
            if lane.open_messages.on_last_try(number)
        }

    # Start and stop

    def start(self) -> None:
        """Listen to the bell, poll all levels, serve lanes."""
        self._began_s = self._store.clock.steady_s()
        self._store.bell.listen(self.owner, self)
        self.spawn(self.recorder.run(), "recorder")
        self.spawn(self._reader.run(), "reader")
        self.spawn(self.figures.run(), "figures")
        self.spawn(self._recaller.run(), "recaller")
        self._pacing_task = self._task(self._pace.run(), "pace")
        self.spawn(self.janitor.run_sweep(), "sweep")
        self.spawn(self.janitor.run_retention(), "retention")
        self.spawn(self.janitor.run_erasures(), "erasures")
        owns = self.lanes.__len__
        self.spawn(self.janitor.run_beat(lambda: owns() > 0, self._declared_dead), "beat")
        self.owned.has_place = self._runners.waiting.has_place
        ask = partial(self._claim_again, 0)
        self.spawn(self.owned.run(self._runners.serve_waiting, ask), "owned lanes")
        self.spawn(self._sessions.run(self._is_sending), "sessions")
        for poller in self.pollers.levels:
            name = f"poller {poller.level}"
            self._claimers.append(self._task(self.pollers.run_level(poller.level), name))
        self._claimers.append(self._task(self.pollers.run_safety(), "safety poll"))

    def spawn(self, loop: Coroutine[object, object, None], name: str) -> None:
        """Start a loop that lives as long as the engine; the engine ends if it dies."""
        self._loops.append(self._task(loop, name))

    def _task(self, loop: Coroutine[object, object, None], name: str) -> "asyncio.Task[None]":
        return self._tasks.start(loop, name)

    def broke(self, error: BaseException) -> None:
        """End the run: a loop that died would stop deliveries for ever, and silently."""
        self._broken = self._broken or error
        self.owned.calm.set()
        self._stop_asked.set()

    def _runner_ended(self, task: "asyncio.Task[None]") -> None:
        self.owned.calm.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._tasks.fail(error, "runner")

    async def until_stopped(self) -> None:
        """Wait for `ask_to_stop`; raises when the engine itself breaks."""
        await self._stop_asked.wait()
        if self._broken is not None:
            raise self._broken

    def ask_to_stop(self) -> None:
        """End the run. A plain handler may call this too, from its thread."""
        self._loop.call_soon_threadsafe(self._stop_asked.set)
        self._loop.call_soon_threadsafe(self.owned.calm.set)

    async def until_idle(self) -> None:
        """Wait until nothing is due, in flight or unrecorded; what waits for later stays."""
        while self._broken is None and not self._stop_asked.is_set():
            self.owned.calm.clear()
            if self._is_calm():
                await self.pollers.drain_all()
                if self._is_calm():
                    return
            await self.owned.calm.wait()
        if self._broken is not None:
            raise self._broken

    def _is_calm(self) -> bool:
        busy = self._runners.tasks or self.recorder.unrecorded or self.pollers.claiming
        return not busy and all(lane.quiet for lane in self.lanes.values())

    async def stop(self) -> StopSummary:
        """Start nothing more, wait for what is in flight, then give everything back. What does
        not end in time is stopped and spends no attempt. The pace goes on until `close`: others
        that end meanwhile may wait for its slots."""
        self._store.bell.leave(self.owner)
        await self._cancel(self._claimers)
        summary = await self._runners.stop(self.limits.drain_s)
        try:
            async with asyncio.timeout(self.limits.drain_s):
                await self.recorder.settled()
        except TimeoutError:
            # The store could not write: these messages will be sent again.
            self._log.error(
                "stopped before all results were recorded", count=self.recorder.unrecorded
            )
        await self._cancel(self._loops)
        await self.owned.release(list(self.lanes.values()))
        await self.owned.close_sessions()
        try:
            await self._store.disown(self.owner, [])
        except StoreError as error:
            self._log.store_failed("give lanes back", error)
        return summary

    async def close(self) -> None:
        """End all tasks that are left, also when `stop` was cut short."""
        if runners := list(self._runners.tasks):
            self._deadlines.cut_all(runners)
            await asyncio.wait(runners, timeout=CLOSE_S)
        await self._cancel([*self._claimers, *self._loops])
        if self._pacing_task is not None:
            await self._cancel([self._pacing_task])
        await self._events.close()

    async def _cancel(self, tasks: "list[asyncio.Task[None]]") -> None:
        for task in tasks:
            task.cancel()
        # They were cancelled: their errors do not matter.
        _ = await asyncio.gather(*tasks, return_exceptions=True)

    # Calls from the bell

    def on_ready(self, level: int, at_ms: int) -> None:
        """An unowned lane has something at this level, from that time on."""
        self.pollers.ring(level, at_ms)
        self.janitor.watch()

    def on_lane(self, lane: int, rung: int, due_ms: int) -> None:
        """A lane of ours got a message, or something of it changed."""
        worker = self.lanes.get(lane)
        if worker is None:
            self._claims.ring_early(lane, rung, due_ms)
            return
        now_ms = self._store.clock.now_ms()
        worker.cache.ring(rung, due_ms, now_ms)
        if rung == 0:
            self._pacing.retry(worker)
        elif due_ms <= now_ms:
            worker.early_probe.message_came()
        self._pump(worker)

    def on_recall(self, lane: int, number: int) -> None:
        """A message of a lane of ours is to be cancelled, or the lane to be given back."""
        worker = self.lanes.get(lane)
        if worker is not None and number == LEAVE:
            self.owned.give_way(worker)
        elif worker is not None:
            self._recaller.recall(worker, abs(number), stop=number < LEAVE)

    def _stop_try(self, worker: LaneWorker, number: int) -> None:
        """Stop the running try of a message that is to be cancelled, where its session can."""
        session = self._sessions.get(worker.lane.id)
        if isinstance(session, Stops) and session.stop(number):
            self._deadlines.stop_try(number)

    def on_expiry(self, at_ms: int) -> None:
        """A message expires at that time."""
        self.janitor.expect(at_ms)

    def holds(self, lane: int, number: int) -> bool:
        """Whether a message is in flight here, or not yet recorded."""
        worker = self.lanes.get(lane)
        return worker is not None and number in worker.open_messages.ids

    # Calls between the parts

    async def _declared_dead(self) -> None:
        """A peer declared this owner dead: drop the lanes that it lost."""
        await self.owned.drop_lost()
        for poller in self.pollers.levels:
            poller.ring(self._store.clock.now_ms())

    async def _claim(self, levels: Sequence[int], asks: Callable[[], None]) -> Claim:
        claim = await self._claims.claim(levels, self._pools, asks)
        if claim.owned:
            self.janitor.watch()
        return claim

    def _may_start(self, now_s: float) -> bool:
        full = self.recorder.unrecorded >= self.limits.unrecorded_max
        return not (self._runners.stopping or full or now_s > self.janitor.stale_after_s)

    def _pump(self, worker: LaneWorker) -> None:
        """Ask the store for what a changed lane lacks, and start what can go."""
        if worker.stopped:
            self.owned.calm.set()
            return
        # Where none may start, a later change asks again.
        _ = self._runners.start(worker, self._store.clock.now_ms())
        self._rest(worker)

    def _is_sending(self, lane: int) -> bool:
        worker = self.lanes.get(lane)
        return worker is not None and worker.in_flight > 0

    def _slot_came(self, lane: int) -> None:
        worker = self.lanes.get(lane)
        if worker is not None:
            self._pump(worker)

    def _rest(self, worker: LaneWorker) -> None:
        """Ask the store for what the lane lacks. No runner starts here: what makes a message
        startable starts one."""
        if worker.stopped:
            self.owned.unsettled.set()  # it may have opened a session since
            return
        now_ms = self._store.clock.now_ms()
        look, wants = worker.look(now_ms), worker.wants(now_ms)
        if look or wants:
            self._reader.ask(worker, look, wants)
        self.owned.settle(worker, now_ms)
        if self._runners.waiting:
            self.owned.unsettled.set()

    def _recorded(self, workers: Iterable[LaneWorker]) -> None:
        for worker in workers:
            self._pump(worker)
        self._capacity_freed()

    def _capacity_freed(self) -> None:
        if self._runners.serve_waiting():
            self.owned.unsettled.set()

    def _claim_again(self, level: int) -> None:
        self.pollers.ring(level, self._store.clock.now_ms())
