"""OwnedLanes: the lanes that this engine owns, kept while they have work, then given back."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import Final

from postroad.engine.busy_lanes import BusyLanes
from postroad.engine.engine_log import EngineLog
from postroad.engine.lane_reconciliation import LaneReconciliation
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.sessions import Sessions
from postroad.model.errors import StoreError
from postroad.model.limits import Limits
from postroad.model.record import Release
from postroad.model.states import NEVER
from postroad.ports.clock import Timer
from postroad.ports.store import Store

TICK_S: Final = 0.5
RELEASE_BATCH: Final = 256
"""Lanes given back by one call: claims go between."""
RELEASES_MAX: Final = 16
"""Releases in a row before other work of the tick goes on."""
PRESSED_S: Final = 1.0
"""Since the last claim that left lanes for the next one: longer than claims take."""
GIVE_WAY_S: Final = 1.0
"""A lane that another process is to have starts nothing for so long, while its sends end. A job of
minutes does not: messages behind it waited for its end where this process had a place for them."""
GIVE_WAY_FULL_S: Final = 30.0
"""The same where this process had no place for more: what waits starts sooner elsewhere."""
ASK_EVERY_S: Final = 5.0
"""While lanes wait for a place here, this process asks so often whether others own fewer."""
KEPT_LONGER: Final = 5
KEPT_MAX: Final = 65_536
"""While there is more to claim, idle lanes are kept so many times longer before they are given
back, unless more than this are owned."""


class OwnedLanes:
    """At most one worker in the fleet serves a lane; these are ours."""

    def __init__(
        self,
        store: Store,
        owner: int,
        limits: Limits,
        sessions: Sessions,
        busy_lanes: BusyLanes,
        events: EngineLog,
        pump: Callable[[LaneWorker], None],
    ) -> None:
        self.lanes: dict[int, LaneWorker] = {}
        self.reconciliation = LaneReconciliation(store, owner, self.lanes)
        self.busy_lanes = busy_lanes
        self.capacity_freed = asyncio.Event()
        """Set when a lane may have become idle: more may be claimed."""
        self.calm = asyncio.Event()
        """Set when all work may have ended."""
        self.unsettled = asyncio.Event()
        """Set when there is something to do at the next tick."""
        self._store = store
        self._clock = store.clock
        self._owner = owner
        self._limits = limits
        self._sessions = sessions
        self._log = events.log
        self._events = events
        self._logs_claims = self._log.is_enabled_for(logging.DEBUG)
        self._pump = pump
        self._idle_since: dict[int, float] = {}
        """Lanes with nothing to do; those that have rested longest come first."""
        self._parting: dict[int, None] = {}
        """Those of them that another process is to have."""
        self.has_place: Callable[[LaneWorker], bool] = lambda _: True
        """Whether this process has a place for one more send of a lane."""
        self._leaving_until: dict[int, float] = {}
        """Lanes that are to be given back, and how long they wait for their sends to end."""
        self._held_by: dict[int, list[int]] = {}
        """Lanes that were not given back, and the messages whose sends did not end."""
        self._asked_s = 0.0
        """When lanes began to wait for a place, or it was last asked for others who own fewer."""
        self._spent: set[int] = set()
        """Lanes that at most wait for a record: they do not count as busy."""
        self._timers: dict[int, tuple[int, Timer]] = {}
        self._full_s = -PRESSED_S
        """When a claim last left lanes for the next one."""
        self._tick = asyncio.Event()

    @property
    def busy(self) -> int:
        """How many lanes have something to send."""
        return len(self.lanes) - len(self._spent)

    def more_to_claim(self) -> None:
        """A claim left lanes for the next one."""
        self._full_s = self._clock.steady_s()

    def add(self, worker: LaneWorker) -> None:
        """A lane was claimed."""
        lane = worker.lane
        old = self.lanes.get(lane.id)
        if old is not None:
            self.drop(old)  # it was taken from us and came back before we were told
        self.lanes[lane.id] = worker
        self.busy_lanes.change(lane.key.tenant, 1)
        if lane.crashes:
            self._events.taken_over(lane)
        if self._logs_claims:
            self._log.debug("lane claimed", lane=lane.key.server, epoch=lane.epoch)

    def settle(self, worker: LaneWorker, now_ms: int) -> None:
        """Note whether the lane has anything to do, and when it next has."""
        number = worker.lane.id
        quiet = worker.quiet
        spent = quiet or worker.spent
        if spent != (number in self._spent):
            (self._spent.add if spent else self._spent.discard)(number)
            self.busy_lanes.change(worker.lane.key.tenant, -1 if spent else 1)
        wake_ms = worker.wake_at_ms()
        # One that does not wake has nothing to probe with: its messages were cancelled, say.
        probes = wake_ms < NEVER and worker.early_probe.is_soon(worker.circuit, now_ms)
        if quiet and not probes:
            self._idle_since.setdefault(number, self._clock.steady_s())
            self.unsettled.set()
            if worker.leaving:
                self._parting[number] = None
                self._tick.set()  # another process waits for it
            self.calm.set()
        else:
            self._idle_since.pop(number, None)
            self._parting.pop(number, None)
        self.capacity_freed.set()
        self._set_timer(worker, wake_ms, now_ms)

    def _set_timer(self, worker: LaneWorker, wake_ms: int, now_ms: int) -> None:
        number = worker.lane.id
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

    def give_way(self, worker: LaneWorker) -> None:
        """Give a lane back as soon as its sends have ended, unless that takes too long: another
        process is to have it."""
        patience_s = GIVE_WAY_S if self.has_place(worker) else GIVE_WAY_FULL_S
        self._leaving_until[worker.lane.id] = self._clock.steady_s() + patience_s
        worker.leave()
        self.unsettled.set()
        self._pump(worker)

    def can_give_way(self, worker: LaneWorker) -> bool:
        """Whether a lane is not leaving, and no send runs that lasted too long for it before."""
        held_by = self._held_by.get(worker.lane.id, ())
        return not (worker.leaving or any(map(worker.open_messages.is_in_flight, held_by)))

    def _keep_held(self) -> None:
        """Go on with lanes whose sends do not end soon, where this process has places for more:
        where it has none, their messages lose nothing if the lanes leave later."""
        now_s = self._clock.steady_s()
        for number, until_s in list(self._leaving_until.items()):
            worker = self.lanes[number]
            if worker.quiet or now_s < until_s or not self.has_place(worker):
                continue
            del self._leaving_until[number]
            ids = worker.open_messages.ids
            self._held_by[number] = [each for each, in_flight in ids.items() if in_flight]
            worker.leaving = False
            self._pump(worker)

    def _ask_for_others(self, ask: Callable[[], None], *, waiting: bool) -> None:
        """While lanes wait for a place here, let those who own fewer lanes have some of them."""
        now_s = self._clock.steady_s()
        if not waiting:
            self._asked_s = now_s
        elif now_s - self._asked_s >= ASK_EVERY_S:
            self._asked_s = now_s
            ask()

    async def run(self, serve_waiting: Callable[[], bool], ask: Callable[[], None]) -> None:
        """While there is reason to: give back lanes that had nothing to do for a while, and
        serve those that found no capacity; `ask` has the store say how many are above our share."""
        lock = self.reconciliation.lock
        while True:
            await self.unsettled.wait()
            self.unsettled.clear()
            await self._next_tick()
            await self.close_sessions()
            waiting = serve_waiting()
            self._ask_for_others(ask, waiting=waiting)
            self._keep_held()
            await self._give_back(self._idle())
            try:
                if not lock.locked():  # else the next claim does it
                    async with lock:
                        await self.reconciliation.reconcile()
            except StoreError as error:
                self._log.debug("lanes could not be reconciled with the store", error=str(error))
            busy = waiting or self._leaving_until or self._idle_since
            if busy or self.reconciliation.needed:
                self.unsettled.set()

    async def _give_back(self, idle: list[LaneWorker]) -> None:
        for start in range(0, len(idle), RELEASE_BATCH):
            if start >= RELEASES_MAX * RELEASE_BATCH:
                self._tick.set()
                return
            batch = idle[start : start + RELEASE_BATCH]
            await self.release([w for w in batch if w.quiet and not w.stopped])

    def _idle(self) -> list[LaneWorker]:
        """What is to be given back: lanes that another process is to have, and those that had
        nothing to do for a while. The latter can wait, and messages should not: while there is
        more to claim they are kept for longer, as long as they are not too many."""
        now_s, linger_s = self._clock.steady_s(), self._limits.linger_ms / 1000
        if now_s - self._full_s < PRESSED_S and len(self.lanes) < KEPT_MAX:
            linger_s *= KEPT_LONGER
        aged = takewhile(lambda rests: rests[1] <= now_s - linger_s, self._idle_since.items())
        parting = [self.lanes[number] for number in self._parting]
        return parting + [w for number, _ in aged if not (w := self.lanes[number]).leaving]

    async def _next_tick(self) -> None:
        timer = self._clock.later(int(TICK_S * 1000), self._tick.set)
        await self._tick.wait()
        timer.cancel()
        self._tick.clear()

    async def release(self, workers: list[LaneWorker]) -> None:
        """Give lanes back."""
        for worker in workers:
            self.drop(worker)
        for worker in workers:
            if worker.lane.id not in self.lanes:  # else it is ours again
                await self._sessions.close(worker.lane.id)
        if not workers:
            return
        try:
            lanes = [Release(worker.lane.id, worker.lane.epoch) for worker in workers]
            _ = await self._store.release(self._owner, lanes)  # the pollers hear of it by the bell
        except StoreError as error:
            self.reconciliation.unsure()
            self.unsettled.set()
            self._log.store_failed("give lanes back", error)

    async def close_sessions(self) -> None:
        """Close sessions of lanes that are not ours any more, also of those taken from us."""
        await self._sessions.keep(self.lanes)

    def drop(self, worker: LaneWorker) -> None:
        """Stop serving a lane."""
        number = worker.lane.id
        worker.stopped = True
        if self.lanes.get(number) is worker:
            del self.lanes[number]
            if number not in self._spent:
                self.busy_lanes.change(worker.lane.key.tenant, -1)
            self._spent.discard(number)
            self.capacity_freed.set()
        self._idle_since.pop(number, None)
        self._parting.pop(number, None)
        self._leaving_until.pop(number, None)
        self._held_by.pop(number, None)
        _, timer = self._timers.pop(number, (0, None))
        if timer is not None:
            timer.cancel()

    def lost(self, worker: LaneWorker) -> None:
        """The store says that this worker's lane is not its own any more."""
        if self.lanes.get(worker.lane.id) is worker:
            self._events.lost(worker.lane)
            self.drop(worker)
            self.unsettled.set()

    async def drop_lost(self) -> None:
        """A peer declared this owner dead: only what it claimed since is still its own, and may
        be in flight already."""
        for worker in await self.reconciliation.lost_lanes():
            self.lost(worker)
