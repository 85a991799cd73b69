"""LaneClaims: takes lanes from the store, while there is capacity to serve them."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from itertools import repeat
from math import ceil
from typing import Final

from postroad.engine.busy_lanes import GAP_S
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.owned_lanes import OwnedLanes
from postroad.model.entities import Lane
from postroad.model.limits import Limits
from postroad.model.record import Claim, Reading, View
from postroad.model.states import NEVER
from postroad.ports.store import Store

PIPELINED_MAX: Final = 8
"""Maximum pipelined claims before other waiters get the lock."""
ADOPTED_AT_ONCE: Final = 32
"""Lanes of a claim that are taken in before others go between: 256 took 30 ms."""
SHED_EVERY_S: Final = 5.0
BUSY_MAX: Final = 8
"""Busy lanes of all tenants, as a multiple of `in_flight_max`; one tenant may have about one."""


class LaneClaims:
    """Asks the store for lanes, one claim at a time. While answers are full the next claim is asked
    before the last one is taken in (pipelined), so that store and engine work at the same time."""

    def __init__(
        self,
        store: Store,
        owner: int,
        limits: Limits,
        owned: OwnedLanes,
        take_in: Callable[[LaneWorker, View, dict[int, Reading], int], None],
        start: Callable[[LaneWorker, int], bool],
        pump: Callable[[LaneWorker], None],
    ) -> None:
        self._store = store
        self._clock = store.clock
        self._owner = owner
        self._limits = limits
        self._owned = owned
        self._busy_lanes = owned.busy_lanes
        self._reconciliation = owned.reconciliation
        self._take_in = take_in
        self._start = start
        self._pump = pump
        self._shed_s = -SHED_EVERY_S
        self._asked_s = -GAP_S
        """When a claim last asked for everybody's lanes, or for others' and found none."""
        self._early_rings: dict[int, list[tuple[int, int]]] = {}
        """Rings for lanes that may be among those which a claim under way brings."""

    async def claim(
        self, levels: Sequence[int], pools: Sequence[str], asks: Callable[[], None]
    ) -> Claim:
        """Own what is ready at these levels, of tenants below their limit of busy lanes; answers
        the last claim. `asks` is called before each question."""
        await self._capacity()
        async with self._reconciliation.lock:
            await self._reconciliation.reconcile()
            skipped = self._busy_lanes.tenants_at_limit()
            claim = await self._ask(levels, pools, asks, skipped)
            for _ in range(PIPELINED_MAX):
                busy = self._owned.busy + len(claim.lanes)
                if not claim.full or busy >= self._limits.in_flight_max:
                    break
                claim = await self._adopt_while(claim, self._ask(levels, pools, asks, skipped))
            if skipped:
                self._busy_lanes.skipped(skipped, levels)
            others = skipped and claim.lanes
            self._asked_s = -GAP_S if others else self._clock.steady_s()
            await self._adopt_all(claim)
            self._early_rings.clear()
        if claim.surplus:
            self._shed(claim.surplus)
        return claim

    def ring_early(self, lane: int, rung: int, due_ms: int) -> None:
        """A ring for a lane that is not known here: it may have been claimed a moment ago, and its
        messages been read before this one came."""
        if self._reconciliation.lock.locked():
            self._early_rings.setdefault(lane, []).append((rung, due_ms))

    async def _capacity(self) -> None:
        """Wait while there are too many busy lanes of all tenants, and for a moment while a tenant
        is at its limit and nobody else had any."""
        freed = self._owned.capacity_freed
        while self._owned.busy >= BUSY_MAX * self._limits.in_flight_max:
            freed.clear()
            await freed.wait()
        rest_s = self._asked_s + GAP_S - self._clock.steady_s()
        if rest_s > 0 and self._busy_lanes.tenants_at_limit():
            await self._below_limit(ceil(rest_s * 1000))

    async def _below_limit(self, most_ms: int) -> None:
        """Wait until no tenant is at its limit, or so long."""
        freed, over = self._owned.capacity_freed, False

        def end() -> None:
            nonlocal over
            over = True
            freed.set()

        timer = self._clock.later(most_ms, end)
        while not over and self._busy_lanes.tenants_at_limit():
            freed.clear()
            await freed.wait()
        timer.cancel()

    async def _ask(
        self,
        levels: Sequence[int],
        pools: Sequence[str],
        asks: Callable[[], None],
        skipped: Sequence[str],
    ) -> Claim:
        asks()
        self._reconciliation.claim_asked()
        batch = self._limits.claim_batch
        claim = await self._store.claim(self._owner, levels, pools, batch, skipped)
        self._reconciliation.claim_answered()
        if claim.full:
            self._owned.more_to_claim()
        return claim

    async def _adopt_while(self, claim: Claim, question: Coroutine[object, object, Claim]) -> Claim:
        """Take in a claim while the next question is under way."""
        next_claim = asyncio.get_running_loop().create_task(question)
        try:
            await self._clock.sleep(0)  # the question leaves first
            await self._adopt_all(claim)
            return await next_claim
        finally:
            next_claim.cancel()

    async def _adopt_all(self, claim: Claim) -> None:
        views: Iterable[View | None] = claim.views or repeat(None)
        pairs = zip(claim.lanes, views)  # noqa: B905 - without views there is no end
        for number, (lane, view) in enumerate(pairs, 1):
            self._adopt(lane, view, claim)
            if number % ADOPTED_AT_ONCE == 0:
                try:
                    await self._clock.sleep(0)
                except asyncio.CancelledError:
                    self._reconciliation.unsure()  # the rest is ours, and unknown here
                    raise

    def _adopt(self, lane: Lane, view: View | None, claim: Claim) -> None:
        worker = LaneWorker.of(lane, self._limits)
        self._owned.add(worker)
        if view is not None:
            self._take_in(worker, view, claim.readings, claim.seen_ms)
        for rung, due_ms in self._early_rings.pop(lane.id, ()):
            worker.cache.ring(rung, due_ms, self._clock.now_ms())
        # Its runner settles it when it is done: until then there is often nothing else to do.
        comes = self._start(worker, claim.seen_ms)
        if not comes or worker.cache.busy or worker.wake_at_ms() < NEVER:
            self._pump(worker)

    def _shed(self, surplus: int) -> None:
        """Give lanes back that are above our share, the idle ones first, then those with the fewest
        sends in flight. Not often: it takes a moment until others have claimed them."""
        now_s = self._clock.steady_s()
        if now_s - self._shed_s < SHED_EVERY_S:
            return
        self._shed_s = now_s
        workers = self._owned.lanes.values()
        surplus -= sum(worker.leaving for worker in workers)
        staying = [worker for worker in workers if self._owned.can_give_way(worker)]
        staying.sort(key=lambda worker: (not worker.quiet, worker.in_flight))
        for worker in staying[: max(0, surplus)]:
            self._owned.give_way(worker)
