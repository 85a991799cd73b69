"""One run of an open road: until it is stopped, or until nothing is due any more."""

import asyncio
from collections.abc import Collection, Coroutine, Sequence
from contextlib import ExitStack
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from postroad.campaigns.worker import CampaignWorker
from postroad.engine.engine import Engine
from postroad.engine.replaying import ReplayWorker
from postroad.engine.runners import StopSummary
from postroad.model.errors import BadInput
from postroad.model.facts import LaneWindow
from postroad.model.keyring import KeyRing
from postroad.model.limits import Limits
from postroad.model.rollup import Rollup
from postroad.model.webhook import WebhookRules
from postroad.observe.log import log_guard, log_levels
from postroad.observe.metrics import Meter
from postroad.observe.tasks import Broke, HasTasks
from postroad.observe.tries import watched
from postroad.observe.watchdog import log_when_stuck
from postroad.pacing.pacer import Pacer
from postroad.ports.clock import Chance
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.ports.transport import Transport
from postroad.transports.job_progress import ProgressReports
from postroad.verbs.allowance import Allowance
from postroad.verbs.campaign_service import CampaignService
from postroad.verbs.endpoint_watch import EndpointWatch
from postroad.verbs.endpoints import EndpointAdmin
from postroad.verbs.events import EventVerbs
from postroad.verbs.registering import Registry
from postroad.verbs.replays import spawn_replays
from postroad.verbs.restoring import run_restored
from postroad.verbs.scheduler import Scheduler, TickDrafts
from postroad.verbs.sealing import check_keys
from postroad.verbs.sending import Sending
from postroad.verbs.signals import SignalTrap


class HasEngine(Protocol):
    """A road. It has an engine while it runs."""

    engine: Engine | None


class RunnableRoad(HasEngine, Protocol):
    """What a run uses of its road."""

    hears_signals: bool
    stop_asked: bool
    stopped: StopSummary | None
    meter: Meter | None
    owner: int
    watchdog_s: float
    log: Log
    store: Store
    keys: KeyRing
    registry: Registry
    campaign_service: CampaignService
    endpoints: EndpointAdmin
    events: EventVerbs

    def stop(self) -> None:
        """End the run."""


class RunParts(Struct, frozen=True):
    """Further parts of a road that its runs use. `watched`: those with tasks that may die."""

    chance: Chance
    limits: Limits
    webhook_rules: WebhookRules
    transports: dict[str, Transport]
    sending: Sending
    allowance: Allowance
    watched: tuple[object, ...]


class RoadRun:
    """Runs a road, one run at a time."""

    def __init__(self, road: RunnableRoad, parts: RunParts) -> None:
        self._road = road
        self._parts = parts
        self._reports: ProgressReports | None = None
        self._runs = False
        self._ended = asyncio.Event()

    async def run(self, *, until_idle: bool) -> None:
        """Deliver until stopped, or, with `until_idle`, until nothing is due any more."""
        _ = self._parts.sending.taking()  # whether it is open
        if self._runs:
            raise BadInput("this road runs already: one run() at a time")
        self._runs, ended, road = True, asyncio.Event(), self._road
        self._ended = ended
        trap = SignalTrap(road.stop if road.hears_signals else None)
        try:
            # What a program's own factories wait for is interrupted as the program says; all that
            # follows is ended by a stop.
            async with road.registry.providers.opened():
                with ExitStack() as hearing:
                    hearing.enter_context(trap)
                    await run_restored(road.store, road.log)
                    await check_keys(road.store, road.campaign_service.store, road.keys)
                    await self._deliver(hearing, until_idle=until_idle)
        finally:
            self._runs = road.stop_asked = False
            ended.set()
            trap.hand_on()

    async def end(self) -> None:
        """End a run that another task began, in good order, before its road is closed."""
        if self._runs:
            self._road.stop()
            _ = await self._ended.wait()  # it is always true

    async def _deliver(self, hearing: ExitStack, *, until_idle: bool) -> None:
        road, parts = self._road, self._parts
        cron = self._scheduler()
        pace, limits = Pacer(road.store, road.store.clock, road.log), parts.limits
        engine = road.engine = self._engine(pace)
        self._tell_broken(engine.broke)
        try:
            replays = self._start(engine, cron)
            if not until_idle:
                log_levels(road.log, limits.poll_intervals_s)
                log_guard(road.log, parts.webhook_rules)
                road.campaign_service.listen(engine.spawn)
            if road.stop_asked:
                engine.ask_to_stop()
            async with road.campaign_service.sending(
                road.owner, pace, engine.figures, engine.rules, limits.drain_s, road.stop
            ) as worker:
                watch = road.endpoints.watch
                try:
                    with log_when_stuck(road.watchdog_s, road.log):
                        await deliver(engine, worker, cron, replays, watch, until_idle=until_idle)
                finally:
                    hearing.close()  # another signal is not heard while this one's stop goes on
                    worker.stop()  # both begin nothing more, and end together
                    road.stopped = await engine.stop()
        finally:
            hearing.close()
            await end_figures(engine, road.endpoints.watch)
            if self._reports is not None:
                await self._reports.write()
            await engine.close()
            self._tell_broken(None)
            road.engine = None

    def _engine(self, pace: Pacer) -> Engine:
        road, parts = self._road, self._parts
        transports = watched(parts.transports, road.meter, road.store.clock)
        made = (parts.chance, road.log, pace, road.keys)
        return Engine(road.store, transports, road.owner, parts.limits, *made)

    def _scheduler(self) -> Scheduler:
        road, entries = self._road, [replace(one) for one in self._road.registry.timetables]
        drafts = TickDrafts(self._parts.sending)
        made = (road.store, road.store.clock, entries, drafts, road.log, road.owner)
        return Scheduler(*made)

    def _start(self, engine: Engine, cron: Scheduler) -> ReplayWorker | None:
        road, parts = self._road, self._parts
        engine.start()
        engine.spawn(road.endpoints.expiry.run(), "endpoints")
        engine.spawn(road.events.mover.run(), "events")
        reports = self._reports = ProgressReports(road.store, road.store.clock, road.log)
        road.registry.functions.reports = reports.report
        engine.spawn(reports.run(), "progress")
        engine.spawn(cron.run(), "cron")
        return spawn_replays(engine, road.store, parts.sending, parts.allowance, road.log)

    def _tell_broken(self, broke: Broke | None) -> None:
        """Set the callback for a task of the store or of the road that dies."""
        for part in self._parts.watched:
            if isinstance(part, HasTasks):
                part.tasks.tell(broke)


class LiveEngine:
    """What verbs ask the engine of a road. While none runs, nothing is under way."""

    def __init__(self, road: HasEngine) -> None:
        self._road = road

    def runs(self) -> bool:
        """Whether there is one."""
        return self._road.engine is not None

    def last_tries(self, numbers: Collection[int]) -> set[int]:
        """Which of these it still tries, after it was asked to cancel them."""
        engine = self._road.engine
        return set() if engine is None else engine.last_tries(numbers)

    def unwritten_figures(self) -> Sequence[Rollup]:
        """Figures that are not in the store yet."""
        engine = self._road.engine
        return () if engine is None else engine.figures.unwritten()

    def in_flight(self) -> list[int]:
        """Messages that are being sent."""
        engine = self._road.engine
        return [] if engine is None else engine.in_flight()

    def sends(self, number: int) -> bool:
        """Whether it is trying a message now."""
        engine = self._road.engine
        return engine is not None and engine.sends(number)

    def age_s(self) -> float:
        """How long it has run."""
        engine = self._road.engine
        return 0.0 if engine is None else engine.age_s()

    def window(self, lane: int) -> LaneWindow | None:
        """The window of a lane, if it serves that."""
        engine = self._road.engine
        return None if engine is None else engine.window(lane)


async def deliver(
    engine: Engine,
    worker: CampaignWorker,
    scheduler: Scheduler,
    replays: ReplayWorker | None,
    watch: EndpointWatch,
    *,
    until_idle: bool,
) -> None:
    """Let a started engine work until it is stopped. `until_idle`: or until messages, campaigns,
    replays and timetables have nothing due."""
    engine.spawn(watch.run(engine.recorder.endpoints), "endpoint watch")
    stopped = engine.until_stopped()
    if not until_idle:
        await stopped
        return
    await _first_of(stopped, _idle(worker, scheduler, replays))
    await engine.until_idle()


async def end_figures(engine: Engine, watch: EndpointWatch) -> None:
    """Write the last figures of an engine that has stopped."""
    await engine.figures.end()
    await watch.end(engine.recorder.endpoints)


async def _idle(worker: CampaignWorker, scheduler: Scheduler, replays: ReplayWorker | None) -> None:
    await scheduler.caught_up.wait()
    if replays is not None:
        await replays.idle.wait()
    await worker.idle.wait()


async def _first_of(*waits: Coroutine[None, None, None]) -> None:
    """Wait until one has ended, and raise what it raised."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in ended:
        task.result()
