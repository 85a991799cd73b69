"""Janitor: expiry, retention, lost leases, and this owner's own heartbeat."""

import asyncio
from collections.abc import Awaitable, Callable

from postroad.engine.engine_log import EngineLog
from postroad.engine.erasing import run_erasures
from postroad.model.blobs import UNUSED_MS
from postroad.model.entities import DAY_MS
from postroad.model.errors import StoreError
from postroad.model.limits import Limits
from postroad.model.states import NEVER
from postroad.model.unused import unused_for_ms
from postroad.ports.blobs import Blobs
from postroad.ports.clock import Timer
from postroad.ports.store import Store

SWEEP_AT_LEAST_S = 3_600.0
RETRY_S = 1.0
BEAT = "write the heartbeat"
TOKENS_MS = 2 * DAY_MS
"""A callback with a token is believed for 12 hours after it was signed."""
REAPS_MAX = 100
"""Slices of messages that dead owners were asked to cancel, between two heartbeats."""


class Janitor:
    """The loops that tidy the store, beat for this owner and free the lanes of dead ones."""

    def __init__(self, store: Store, owner: int, limits: Limits, events: EngineLog) -> None:
        self._store = store
        self._owner = owner
        self._limits = limits
        self._log = events.log
        self._events = events
        self._sweep = asyncio.Event()
        self._timer: Timer | None = None
        self._sweep_at_ms = NEVER
        self._walk_at_ms = self._audit_at_ms = 0
        self._watch = asyncio.Event()
        self._declared_dead = False
        self._alive_at(store.clock.steady_s())

    def _alive_at(self, at_s: float) -> None:
        self.stale_after_s = at_s + self._limits.stale_ms / 1000
        """After this time peers may soon declare this owner dead: it starts nothing."""

    def expect(self, at_ms: int) -> None:
        """Sweep at that time: something expires."""
        if at_ms >= self._sweep_at_ms:
            return
        self._sweep_at_ms = at_ms
        if self._timer is not None:
            self._timer.cancel()
        delay_ms = max(0, at_ms - self._store.clock.now_ms())
        self._timer = self._store.clock.later(delay_ms, self._sweep.set)

    async def run_sweep(self) -> None:
        """Move messages to the dead set when they expire."""
        while True:
            self._sweep.clear()
            self._sweep_at_ms = NEVER
            now_ms = self._store.clock.now_ms()
            try:
                swept = await self._store.sweep(self._limits.sweep_batch)
                if swept.expired:
                    self._events.expired(swept.expired)
                at_least_ms = now_ms + int(SWEEP_AT_LEAST_S * 1000)
                self.expect(min(swept.next_at_ms, at_least_ms))
            except StoreError as error:
                self._log.store_failed("sweep expired messages", error)
                self.expect(now_ms + int(RETRY_S * 1000))
            await self._sweep.wait()

    def watch(self) -> None:
        """Lanes are owned, here or by a peer: beat, and look for owners that are dead."""
        self._watch.set()

    async def run_beat(self, owns: Callable[[], bool], dead: Callable[[], Awaitable[None]]) -> None:
        """Beat while lanes are owned here; look for dead peers while any lane is owned."""
        while True:
            if not self._watch.is_set():
                await self._watch.wait()
                self._alive_at(self._store.clock.steady_s())
            self._watch.clear()
            try:
                await self._beat(owns, dead)
                self._log.store_works(BEAT)
            except StoreError as error:
                self._log.store_failed(BEAT, error)
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
        for _ in range(REAPS_MAX):
            reaped = await self._store.reap(self._limits.lease_ms)
            self._events.workers_lost(reaped.workers)
            if reaped.owned:
                self._watch.set()
            if not reaped.wishes:
                break

    async def run_retention(self) -> None:
        """Delete finished work that is too old or too much, and unused queues, in slices."""
        store, limits = self._store, self._limits
        unused_ms = unused_for_ms(limits.queue_unused_ms, limits.history_ms)
        while True:
            try:
                while await store.retain(limits.history_ms, limits.dead_ms):
                    await store.clock.sleep(0)
                while await store.dead_trim(limits.dead_max):
                    await store.clock.sleep(0)
                await self._collect(unused_ms)
                while await store.list_index(start=False) is not None:
                    await store.clock.sleep(0)
                await self._trim_daily()
            except StoreError as error:
                self._log.store_failed("delete old messages", error)
            await self._store.clock.sleep(self._limits.retain_every_s)

    async def run_erasures(self) -> None:
        """Go on with erasures that a process has left unfinished."""
        while True:
            try:
                await run_erasures(self._store, self._log)
            except StoreError as error:
                self._log.store_failed("go on with an erasure", error)
            await self._store.clock.sleep(self._limits.retain_every_s)

    async def _trim_daily(self) -> None:
        """Trim the audit log, reports and erasures once a day: an idle process sends its database
        few statements."""
        now_ms, limits = self._store.clock.now_ms(), self._limits
        if self._audit_at_ms > now_ms:
            return
        while await self._store.audit_retain(now_ms - limits.audit_ms, limits.audit_max):
            await self._store.clock.sleep(0)
        while await self._store.reports_retain(now_ms - limits.audit_ms):
            await self._store.clock.sleep(0)
        while await self._store.tokens_retain(now_ms - TOKENS_MS):
            await self._store.clock.sleep(0)
        await self._store.erasure_retain(now_ms - limits.audit_ms)
        await self._sweep_blobs(now_ms)
        self._audit_at_ms = now_ms + DAY_MS

    async def _sweep_blobs(self, now_ms: int) -> None:
        """Delete contents that no message and no campaign needs."""
        store, after = self._store, 0
        while isinstance(store, Blobs):
            found = await store.blob_sweep(after, now_ms - UNUSED_MS, now_ms)
            if found is None:
                return
            after = found
            await store.clock.sleep(0)

    async def _collect(self, unused_ms: int) -> None:
        while self._walk_at_ms <= self._store.clock.now_ms():
            collected = await self._store.collect(unused_ms)
            if collected.gone:
                self._log.info("unused queues deleted", count=collected.gone)
            self._walk_at_ms = collected.next_at_ms
            await self._store.clock.sleep(0)
