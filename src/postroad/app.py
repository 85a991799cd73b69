"""The road as a program uses it. This file wires everything, and it alone knows all rooms."""

import asyncio
import os
from collections.abc import Callable, Collection, Coroutine, Sequence
from types import TracebackType
from typing import Self

import apsw
from msgspec import Struct
from msgspec.structs import replace

from postroad.campaigns.worker import CampaignWorker
from postroad.config import Settings, checked
from postroad.engine.engine import Engine
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, StoreError
from postroad.observe import tracing
from postroad.observe.log import log_guard, log_levels, make_log
from postroad.observe.metrics import Meter
from postroad.observe.tasks import Broke, HasTasks
from postroad.observe.tries import WatchedTransport
from postroad.observe.watchdog import log_when_stuck
from postroad.pacing.pacer import Pacer
from postroad.ports.clock import Chance, Clock, SystemClock, system_chance
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.ports.ticks import Ticks
from postroad.ports.transport import Transport
from postroad.stores.opening import open_store
from postroad.transports.failure_log import FailureLog
from postroad.transports.handler import HandlerTransport
from postroad.transports.threads import Calls, Threads
from postroad.transports.webhook.resolving import Resolve
from postroad.verbs.allowance import Allowance
from postroad.verbs.campaign_service import CampaignService
from postroad.verbs.control import Controls, LaneControls
from postroad.verbs.cron import Scheduler
from postroad.verbs.dead import Dead
from postroad.verbs.hearing import Ears
from postroad.verbs.inspection import Inspection
from postroad.verbs.mailboxes import MailboxVerbs, hub_transport
from postroad.verbs.own_keys import own_keys
from postroad.verbs.registering import Registry
from postroad.verbs.reopening import Reopening
from postroad.verbs.sealing import HeaderSeals, Sealing, key_ring
from postroad.verbs.sending import Sending
from postroad.verbs.tokens import TokenVerbs
from postroad.verbs.webhooks import Webhooks, webhook_transport
from postroad.verbs.why import Why


class Parts(Struct, frozen=True):
    """What a test may put in place of the real thing."""

    clock: Clock | None = None
    chance: Chance | None = None
    store: Store | None = None
    log: Log | None = None
    threads: Callable[[str, int], Calls] = Threads
    resolve: Resolve | None = None


class Postroad:
    """A road: register handlers, send messages, run."""

    defaults = Settings()

    def __init__(
        self,
        dsn: str | None = None,
        *,
        settings: Settings | None = None,
        transports: Sequence[Transport] = (),
        parts: Parts | None = None,
    ) -> None:
        self.settings = checked(self.defaults if settings is None else settings)
        self.dsn = dsn or os.environ.get("POSTROAD_DSN") or self.settings.dsn
        parts = parts or Parts()
        self.log = parts.log or make_log(self.settings.log_level, form=self.settings.log_format)
        self._chance = parts.chance or system_chance()
        self.store = parts.store or open_store(self.dsn, parts.clock or SystemClock())
        self._own_store = parts.store is None
        failure_log = FailureLog(self.log, self.store.clock)
        self._handlers = HandlerTransport(failure_log, parts.threads)
        self.registry = Registry(self._handlers)
        self.handler, self.every = self.registry.handler, self.registry.every
        self.extra_transports = tuple(transports)
        self.keys = key_ring(self.settings.keys_file)
        rules = self.settings.webhooks
        own = webhook_transport(self.store, self.keys, rules, self.store.clock, parts.resolve)
        self.hubs = hub_transport(self.store, self.settings.hubs, rules.deny, parts.resolve)
        known: tuple[Transport, ...] = (self._handlers, own, self.hubs, *transports)
        self._transports = {transport.name: transport for transport in known}
        self.owner = 0
        limits, body_bytes_max = self.settings.tenants, self.settings.body_bytes_max
        allowance = self._allowance = Allowance(self.store, limits, body_bytes_max, self.log)
        self._sending = Sending(self.store, self._transports, self._handlers, self.keys, allowance)
        self.send, self.send_many = self._sending.send, self._sending.send_many
        self.send_each, self.send_in = self._sending.send_each, self._sending.send_in
        self._stop_asked = False
        self.hears_signals = True
        # 0 in a server, which has a watchdog of its own, and in simulated time.
        self.watchdog_s = self.settings.watchdog_s if parts == Parts() else 0.0
        self.meter: Meter | None = None
        controls = Controls(self.store, self._last_tries)
        self.cancel, self.settle = controls.cancel, controls.settle
        self.cancel_all, self.cancelling = controls.cancel_all, controls.cancelling
        self.pause, self.resume, self.unblock = controls.pause, controls.resume, controls.unblock
        self.limit = controls.limit
        self.lanes, self.dead = LaneControls(self.store), Dead(self.store)
        self.inspect = Inspection(self.store, self.settings.limits.poll_intervals_s)
        self.tokens = TokenVerbs(self.store, self.store.clock)
        self.webhooks = Webhooks(self.store, own, self.keys, self._sending.open_webhook)
        service = self.campaign_service = CampaignService(
            self.store, self.keys, rules, self.log, own.idle, allowance, parts.resolve
        )
        self.campaigns, self.credentials = service.campaigns, service.credentials
        beside = own_keys(self.dsn) if self._own_store else None
        self.sealing = Sealing(self.keys, self.settings.keys_file, beside, self.log)
        self.sealing.join((self.webhooks, self.credentials, HeaderSeals(self.store, self.keys)))
        why = Why(self.store, self.store.clock, self._sends)
        self.explain = why.explain
        self.explain_queue, self.explain_lane = why.explain_queue, why.explain_lane
        self.mailboxes = MailboxVerbs(self.store, self.log, allowance)
        self._reopening = Reopening(self.store, self._transports.values(), self.log)
        self.engine: Engine | None = None

    async def __aenter__(self) -> Self:
        if self._sending.is_open:
            raise BadInput("this road is open already: open it once, all tasks may use it")
        if self._own_store:
            await self.store.open()
        try:
            await self.sealing.open()
            self.owner = await self.store.join()
            self._sending.open(self.owner)
            for name in self._handlers.handlers:
                _ = await self._sending.open_queue(DEFAULT_TENANT, name)  # it is there now
        except BaseException:
            await self.__aexit__(None, None, None)  # the file must not stay ours
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._sending.close()
        await self._reopening.close()
        try:
            await self.store.leave(self.owner)
        except StoreError as gone:
            self.log.warning("left without a word", error=str(gone))
        finally:
            if self._own_store:
                await self.store.close()

    def connection(self) -> apsw.Connection:
        """On SQLite: a connection for your own tables in the road's file, and for `send_in`."""
        from postroad.stores.sqlite.store import SqliteStore

        if not isinstance(self.store, SqliteStore):
            raise BadInput("only a SQLite road gives connections: use your own with send_in")
        return self.store.connection()

    async def run(self, *, until_idle: bool = False) -> None:
        """Deliver, until stopped; or until nothing is due any more."""
        _ = self._sending.taking()  # whether it is open
        if self.engine is not None:
            raise BadInput("this road runs already: one run() at a time")
        if not until_idle:
            log_levels(self.log, self.settings.limits.poll_intervals_s)
            log_guard(self.log, self.settings.webhooks)
        limits, log, scheduler = self.settings.limits, self.log, self._scheduler()
        pace = Pacer(self.store, self.store.clock, log)
        engine = self.engine = Engine(
            self.store, self._watched(), self.owner, limits, self._chance, log, pace, self.keys
        )
        self._tell_broken(engine.broke)
        ears = Ears(self.stop if self.hears_signals else None)
        try:
            engine.start()
            if scheduler is not None:
                engine.spawn(scheduler.run(), "cron")
            if self._stop_asked:
                engine.ask_to_stop()
            async with self.campaign_service.sending(
                self.owner, pace, limits.drain_s, self.stop
            ) as worker:
                try:
                    with ears, log_when_stuck(self.watchdog_s, log):
                        stopped = engine.until_stopped()
                        if not until_idle:
                            await stopped
                            return
                        await _first_of(stopped, _idle(worker, scheduler))
                        await engine.until_idle()
                finally:
                    worker.stop()  # both begin nothing more, and end together
                    await engine.stop()
        finally:
            await engine.close()
            self._tell_broken(None)
            self.engine = None
            self._stop_asked = False
            ears.hand_on()

    def _tell_broken(self, broke: Broke | None) -> None:
        """Who is to know when a task of the store's, or of the road's own, dies."""
        self._reopening.tasks.tell(broke)
        self._allowance.tasks.tell(broke)
        if isinstance(self.store, HasTasks):
            self.store.tasks.tell(broke)

    def _watched(self) -> dict[str, Transport]:
        """The transports: counted where a server asks for it, traced where a program does."""
        if self.meter is None and not tracing.active():
            return self._transports
        meter, clock = self.meter or Meter(), self.store.clock
        return {name: WatchedTransport(t, meter, clock) for name, t in self._transports.items()}

    def _scheduler(self) -> Scheduler | None:
        entries = [replace(entry) for entry in self.registry.timetables]
        if not entries:
            return None
        if not isinstance(self.store, Ticks):
            raise BadInput("this store keeps no timetables: road.every needs another one")
        return Scheduler(self.store, self.store.clock, entries, self._sending.draft_tick, self.log)

    def _last_tries(self, numbers: Collection[int]) -> set[int]:
        return set() if self.engine is None else self.engine.last_tries(numbers)

    def _sends(self, number: int) -> bool:
        return self.engine is not None and self.engine.sends(number)

    def stop(self) -> None:
        """End `run`: in-flight work is finished, or given back without spending a try."""
        self._stop_asked = True
        if self.engine is not None:
            self.engine.ask_to_stop()


async def _idle(worker: CampaignWorker, scheduler: Scheduler | None) -> None:
    if scheduler is not None:
        await scheduler.caught_up.wait()
    await worker.idle.wait()


async def _first_of(*ways: Coroutine[None, None, None]) -> None:
    """Until one has ended; what it raised is raised."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in ended:
        task.result()
