"""Janitor: expiry, retention, lost leases, and this owner's own sign of life."""

import asyncio
from collections.abc import Awaitable, Callable

from postroad.model.errors import StoreError
from postroad.model.limits import Limits
from postroad.model.states import NEVER
from postroad.model.unused import unused_for_ms
from postroad.ports.clock import Timer
from postroad.ports.log import Log
from postroad.ports.store import Store

SWEEP_AT_LEAST_S = 3_600.0
RETRY_S = 1.0
REAPS_MAX = 100
"""Slices of what dead owners were asked to cancel, between two signs of life."""


class Janitor:
    """The loops that keep the store tidy and the leases honest."""

    def __init__(self, store: Store, owner: int, limits: Limits, log: Log) -> None:
        self._store = store
        self._owner = owner
        self._limits = limits
        self._log = log
        self._sweep = asyncio.Event()
        self._timer: Timer | None = None
        self._sweep_at_ms = NEVER
        self._walk_at_ms = 0
        self._watch = asyncio.Event()
        self._declared_dead = False
        self._alive_at(store.clock.steady_s())

    def _alive_at(self, at_s: float) -> None:
        self.stale_after_s = at_s + self._limits.stale_ms / 1000
        """From then on peers may soon think that this owner is dead: it starts nothing."""

    def expect(self, at_ms: int) -> None:
        """Something expires then."""
        if at_ms >= self._sweep_at_ms:
            return
        self._sweep_at_ms = at_ms
        if self._timer is not None:
            self._timer.cancel()
        delay_ms = max(0, at_ms - self._store.clock.now_ms())
        self._timer = self._store.clock.later(delay_ms, self._sweep.set)

    async def run_sweep(self) -> None:
        """Move what has expired to the dead set, when it does."""
        while True:
            self._sweep.clear()
            self._sweep_at_ms = NEVER
            now_ms = self._store.clock.now_ms()
            try:
                swept = await self._store.sweep(self._limits.sweep_batch)
                if swept.expired:
                    self._log.info("messages expired", count=swept.expired)
                at_least_ms = now_ms + int(SWEEP_AT_LEAST_S * 1000)
                self.expect(min(swept.next_at_ms, at_least_ms))
            except StoreError as error:
                self._log.warning("the sweep waits", error=str(error))
                self.expect(now_ms + int(RETRY_S * 1000))
            await self._sweep.wait()

    def watch(self) -> None:
        """Lanes are owned, here or by a peer: beat, and look for owners who do not."""
        self._watch.set()

    async def run_beat(self, owns: Callable[[], bool], dead: Callable[[], Awaitable[None]]) -> None:
        """Say "still here" while lanes are owned here; watch peers while any lane is owned."""
        while True:
            if not self._watch.is_set():
                await self._watch.wait()
                self._alive_at(self._store.clock.steady_s())
            self._watch.clear()
            try:
                await self._beat(owns, dead)
            except StoreError as error:
                self._log.warning("no sign of life could be given", error=str(error))
                self._watch.set()
            await self._store.clock.sleep(self._limits.beat_ms / 1000)

    async def _beat(self, owns: Callable[[], bool], dead: Callable[[], Awaitable[None]]) -> None:
        started_s = self._store.clock.steady_s()
        if owns() and not await self._store.beat(self._owner):
            self._declared_dead = True
        if self._declared_dead:
            await dead()
            self._declared_dead = False
        self._alive_at(started_s)
        reaped = await self._store.reap(self._limits.lease_ms)
        for _ in range(REAPS_MAX if reaped.wishes else 0):
            reaped = await self._store.reap(self._limits.lease_ms)
            if not reaped.wishes:
                break
        if reaped.lost:
            self._log.warning("leases were lost", lanes=reaped.lost)
        if reaped.owned:
            self._watch.set()

    async def run_retention(self) -> None:
        """Forget finished work past its time or its number, and unused queues, in slices."""
        store, limits = self._store, self._limits
        unused_ms = unused_for_ms(limits.queue_unused_ms, limits.history_ms)
        while True:
            try:
                while await store.retain(limits.history_ms, limits.dead_ms):
                    await store.clock.sleep(0)
                while await store.dead_trim(limits.dead_max):
                    await store.clock.sleep(0)
                await self._collect(unused_ms)
            except StoreError as error:
                self._log.warning("retention waits", error=str(error))
            await self._store.clock.sleep(self._limits.retain_every_s)

    async def _collect(self, unused_ms: int) -> None:
        while self._walk_at_ms <= self._store.clock.now_ms():
            collected = await self._store.collect(unused_ms)
            if collected.gone:
                self._log.info("unused queues deleted", count=collected.gone)
            self._walk_at_ms = collected.next_at_ms
            await self._store.clock.sleep(0)
