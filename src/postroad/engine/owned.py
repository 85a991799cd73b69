"""The lanes that this engine owns: claimed, kept while they have work, given back."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from itertools import repeat, takewhile
from math import ceil
from typing import Final

from postroad.engine.crowd import GAP_S, Crowd
from postroad.engine.lane import LaneWorker
from postroad.engine.sessions import Sessions
from postroad.model.entities import Lane
from postroad.model.errors import StoreError
from postroad.model.limits import Limits
from postroad.model.record import Claim, Reading, Release, View
from postroad.model.states import NEVER
from postroad.ports.clock import Timer
from postroad.ports.log import Log
from postroad.ports.store import Store

TICK_S: Final = 0.5
RELEASE_BATCH: Final = 256
"""So many lanes are given back at once: claims go between."""
RELEASES_MAX: Final = 16
"""So many times in a row: then those who wait for other things go between."""
PRESSED_S: Final = 1.0
"""Since the last claim that left lanes for the next one: longer than claims take."""
KEPT_LONGER: Final = 5
KEPT_MAX: Final = 65_536
"""While there is more to claim lanes rest so many times longer before they are given back, while
those that are ours are not more than this."""
ADOPTED: Final = 32
"""So many lanes of a claim are taken in at once, then others go between: 256 took 30 ms."""
AHEAD_MAX: Final = 8
"""So many claims in a row may be asked for ahead: then others who wait for their end go first."""
SHED_EVERY_S: Final = 5.0
ALL_TENANTS: Final = 8
"""So many times the room there may be busy lanes of all tenants; one may have about one room."""


class Owned:
    """At most one worker in the fleet serves a lane; these are ours."""

    def __init__(
        self,
        store: Store,
        owner: int,
        limits: Limits,
        sessions: Sessions,
        log: Log,
        pump: Callable[[LaneWorker], None],
    ) -> None:
        self.lanes: dict[int, LaneWorker] = {}
        self.room_free = asyncio.Event()
        self.calm = asyncio.Event()
        self.unsettled = asyncio.Event()
        self._store = store
        self._clock = store.clock
        self._owner = owner
        self._limits = limits
        self._sessions = sessions
        self._log = log
        self._logs_claims = log.is_enabled_for(logging.DEBUG)
        self._pump = pump
        self._quiet: dict[int, float] = {}
        """Lanes with nothing to do, and since when: those that have rested longest come first."""
        self._parting: dict[int, None] = {}
        """Those of them that another process is to have."""
        self._spent: set[int] = set()
        """What waits only to be recorded takes no room: the next lanes are claimed meanwhile."""
        self._timers: dict[int, tuple[int, Timer]] = {}
        self._claiming = asyncio.Lock()
        self._unanswered = False
        """A claim is under way, or its answer was lost."""
        self._doubtful = False
        """Lanes could not be given back."""
        self._shed_s = -SHED_EVERY_S
        self._full_s = -PRESSED_S
        """When a claim last left lanes for the next one."""
        self._tick = asyncio.Event()
        self._crowd = Crowd(limits.room)
        self._asked_s = -GAP_S
        """When a claim last asked for everybody's lanes, or for others' and found none."""
        self._early: dict[int, list[tuple[int, int]]] = {}
        """Rings for lanes that may be among those which a claim under way brings."""

    def join(
        self,
        feed: Callable[[LaneWorker, View, dict[int, Reading], int], None],
        start: Callable[[LaneWorker, int], bool],
        ring: Callable[[int, int], None],
    ) -> None:
        """Who takes in what comes with a claim, who sends it, and who asks for a level again."""
        self._feed = feed
        self._start = start
        self._crowd.again = lambda level: ring(level, self._clock.now_ms())

    async def claim(
        self, levels: Sequence[int], pools: Sequence[str], asks: Callable[[], None]
    ) -> Claim:
        """Own what is ready at these levels, of tenants for whose lanes there is room; `asks` is
        called before each question. While answers are full the next one is asked for before the
        last one is taken in, so that store and engine work at the same time; the last answer
        counts."""
        await self._room_for_more()
        async with self._claiming:
            await self._end_doubt()
            full = self._crowd.full()
            claim = await self._ask(levels, pools, asks, full)
            for _ in range(AHEAD_MAX):
                if not claim.full or self._busy + len(claim.lanes) >= self._limits.room:
                    break
                claim = await self._take_in(claim, self._ask(levels, pools, asks, full))
            if full:
                self._crowd.left_out(full, levels)
            others = full and claim.lanes
            self._asked_s = -GAP_S if others else self._clock.steady_s()
            await self._adopt_all(claim)
            self._early.clear()
        if claim.surplus:
            self._shed(claim.surplus)
        return claim

    @property
    def _busy(self) -> int:
        return len(self.lanes) - len(self._spent)

    async def _room_for_more(self) -> None:
        """Wait while there are too many busy lanes of all tenants, and for a moment while one has
        all that it may and nobody else had any."""
        while self._busy >= ALL_TENANTS * self._limits.room:
            self.room_free.clear()
            await self.room_free.wait()
        rest_s = self._asked_s + GAP_S - self._clock.steady_s()
        if rest_s > 0 and self._crowd.full():
            await self._crowd_ends(ceil(rest_s * 1000))

    async def _crowd_ends(self, most_ms: int) -> None:
        over = False

        def end() -> None:
            nonlocal over
            over = True
            self.room_free.set()

        timer = self._clock.later(most_ms, end)
        while not over and self._crowd.full():
            self.room_free.clear()
            await self.room_free.wait()
        timer.cancel()

    async def _ask(
        self,
        levels: Sequence[int],
        pools: Sequence[str],
        asks: Callable[[], None],
        full: Sequence[str],
    ) -> Claim:
        asks()
        self._unanswered = True
        batch = self._limits.claim_batch
        claim = await self._store.claim(self._owner, levels, pools, batch, full)
        self._unanswered = False
        if claim.full:
            self._full_s = self._clock.steady_s()
        return claim

    async def _take_in(self, claim: Claim, question: Coroutine[object, object, Claim]) -> Claim:
        """While the next question is under way."""
        ahead = asyncio.get_running_loop().create_task(question)
        try:
            await self._clock.sleep(0)  # it leaves first
            await self._adopt_all(claim)
            return await ahead
        finally:
            ahead.cancel()

    async def _end_doubt(self) -> None:
        """After an answer that was lost a lane may be ours in the store and unknown here: nobody
        would serve it. What cannot be given back meanwhile makes new doubt."""
        if not (self._doubtful or self._unanswered):
            return
        self._doubtful = False
        try:
            await self._store.disown(self._owner, list(self.lanes))
        except BaseException:
            self._doubtful = True
            raise
        self._unanswered = False

    def _shed(self, surplus: int) -> None:
        """Give lanes back that are above our share, the idle ones first. Not often: it takes a
        moment until others have them, and that is seen."""
        now_s = self._clock.steady_s()
        if now_s - self._shed_s < SHED_EVERY_S:
            return
        self._shed_s = now_s
        surplus -= sum(worker.leaving for worker in self.lanes.values())
        staying = [worker for worker in self.lanes.values() if not worker.leaving]
        staying.sort(key=lambda worker: not worker.quiet)
        for worker in staying[: max(0, surplus)]:
            worker.leave()
            self._pump(worker)

    def rang_early(self, lane: int, rung: int, due_ms: int) -> None:
        """A ring for a lane that is not known here: it may have been claimed a moment ago, and its
        messages been read before this one came."""
        if self._claiming.locked():
            self._early.setdefault(lane, []).append((rung, due_ms))

    async def _adopt_all(self, claim: Claim) -> None:
        views: Iterable[View | None] = claim.views or repeat(None)
        pairs = zip(claim.lanes, views)  # noqa: B905 - without views there is no end
        for number, (lane, view) in enumerate(pairs, 1):
            self._adopt(lane, view, claim)
            if number % ADOPTED == 0:
                try:
                    await self._clock.sleep(0)
                except asyncio.CancelledError:
                    self._doubtful = True  # the rest is ours, and unknown here
                    raise

    def _adopt(self, lane: Lane, view: View | None, claim: Claim) -> None:
        old = self.lanes.get(lane.id)
        if old is not None:
            self.drop(old)  # it was taken from us and came back before we were told
        worker = LaneWorker.of(lane, self._limits)
        self.lanes[lane.id] = worker
        self._crowd.change(lane.key.tenant, 1)
        if self._logs_claims:
            self._log.debug("lane claimed", lane=lane.key.server, epoch=lane.epoch)
        if view is not None:
            self._feed(worker, view, claim.readings, claim.seen_ms)
        for rung, due_ms in self._early.pop(lane.id, ()):
            worker.ahead.ring(rung, due_ms, self._clock.now_ms())
        # Who serves it comes back when it is done: until then there is often nothing to be settled.
        comes = self._start(worker, claim.seen_ms)
        if not comes or worker.ahead.busy or worker.wake_at_ms() < NEVER:
            self._pump(worker)

    def settle(self, worker: LaneWorker, now_ms: int) -> None:
        """Note whether the lane has anything to do, and when it next has."""
        number = worker.lane.id
        quiet = worker.quiet
        spent = quiet or worker.spent
        if spent != (number in self._spent):
            (self._spent.add if spent else self._spent.discard)(number)
            self._crowd.change(worker.lane.key.tenant, -1 if spent else 1)
        wake_ms = worker.wake_at_ms()
        # One that does not wake has nothing to probe with: its messages were cancelled, say.
        probes = wake_ms < NEVER and worker.early.soon(worker.circuit, now_ms)
        if quiet and not probes:
            self._quiet.setdefault(number, self._clock.steady_s())
            self.unsettled.set()
            if worker.leaving:
                self._parting[number] = None
                self._tick.set()  # somebody waits for it
            self.calm.set()
            self.room_free.set()
        else:
            self._quiet.pop(number, None)
            self._parting.pop(number, None)
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

    async def run(self, serve_starved: Callable[[], bool]) -> None:
        """While there is reason to: give back lanes that had nothing to do for a while, and
        serve those that found no room."""
        while True:
            await self.unsettled.wait()
            self.unsettled.clear()
            await self._next_tick()
            await self.close_sessions()
            starved = serve_starved()
            await self._give_back(self._idle())
            try:
                if not self._claiming.locked():  # else it is ended by the next claim
                    async with self._claiming:
                        await self._end_doubt()
            except StoreError as error:
                self._log.debug("lanes may be ours and unknown", error=str(error))
            if self._quiet or starved or self._doubtful or self._unanswered:
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
        aged = takewhile(lambda rests: rests[1] <= now_s - linger_s, self._quiet.items())
        parting = [self.lanes[number] for number in self._parting]
        return parting + [w for number, _ in aged if not (w := self.lanes[number]).leaving]

    async def _next_tick(self) -> None:
        timer = self._clock.later(int(TICK_S * 1000), self._tick.set)
        await self._tick.wait()
        timer.cancel()
        self._tick.clear()

    async def release(self, workers: list[LaneWorker]) -> None:
        """Give lanes back in good order."""
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
            self._doubtful = True
            self.unsettled.set()
            self._log.warning("lanes could not be given back", error=str(error))

    async def close_sessions(self) -> None:
        """Also those of lanes that were taken from us."""
        await self._sessions.keep(self.lanes)

    def drop(self, worker: LaneWorker) -> None:
        """Serve a lane no more."""
        number = worker.lane.id
        worker.stopped = True
        if self.lanes.get(number) is worker:
            del self.lanes[number]
            if number not in self._spent:
                self._crowd.change(worker.lane.key.tenant, -1)
            self._spent.discard(number)
        self._quiet.pop(number, None)
        self._parting.pop(number, None)
        _, timer = self._timers.pop(number, (0, None))
        if timer is not None:
            timer.cancel()

    def lost(self, worker: LaneWorker) -> None:
        """The store says that this worker's lane is not its own any more."""
        if self.lanes.get(worker.lane.id) is worker:
            self._log.warning("lane was taken over", lane=worker.lane.key.server)
            self.drop(worker)
            self.unsettled.set()

    async def lost_some(self) -> None:
        """A peer declared this owner dead: only what it claimed since is still its own, and may
        be in flight already."""
        async with self._claiming:
            held = await self._store.held(self._owner)
            for worker in list(self.lanes.values()):
                if (worker.lane.id, worker.lane.epoch) not in held:
                    self.lost(worker)
