"""Decides the ticks of timetables: each once in the whole fleet."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from postroad.engine.drafting import Send
from postroad.model.entities import Draft
from postroad.model.errors import (
    BadInput,
    PostroadError,
    QueueGone,
    StoreError,
    StoreUnavailable,
)
from postroad.model.states import NEVER
from postroad.model.texts import ERROR_MAX
from postroad.model.ticks import Missed, Schedule, Tick, Timetabled, TimetableOrigin
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.ticks import Ticks
from postroad.verbs.cron import LATE_MS, check_plan, come, to_send, zone_of
from postroad.verbs.sending import Sending

WATCH_S: Final = 300.0
"""How often the wall clock is read, since it may be set or the machine may have slept. This makes
no query."""
LOOK_MS: Final = 3_600_000
"""How often the store is asked for timetables that were made at run time, though no bell rang."""
LOOK_COUNT: Final = 20
"""How many of them are read at once, with their bodies."""
POSTPONE_MS: Final = 60_000
"""When ticks are tried again that could not be sent: a tenant is full, a zone is not known."""
RETRY_MS: Final = 1_000
FAILED: Final = "could not decide ticks: trying again"
TAKEN: Final = (
    "a timetable of this name was made at run time, so the one of the program does not come: "
    "delete that one, or give every(…, name=…)"
)


class PlannedTimetable(Struct):
    """A timetable as a process decides it: its plan, its last and next ticks, and its queue.
    Without a body it is a program's, whose function gets the tick."""

    plan: Schedule
    missed: Missed
    queue: str
    body: Raw | bytes | None = None
    is_open: bool = False
    decided_ms: int = 0
    next_ms: int = 0


def planned(row: Timetabled) -> PlannedTimetable:
    """A timetable of the store, ready to be decided."""
    body = row.content if row.origin is TimetableOrigin.made else None
    known_ms = row.plan.decided_ms
    return PlannedTimetable(row.plan, row.missed, row.queue, body, True, known_ms, row.look_ms)


def tick_body(plan: Schedule, at_ms: int) -> dict[str, str]:
    """Return what the function of a program gets of a tick."""
    at = datetime.fromtimestamp(at_ms / 1000, zone_of(plan.tz)).isoformat()
    return {"schedule": plan.name, "at": at}


class TickDrafts:
    """Drafts the messages of ticks."""

    def __init__(self, sending: Sending) -> None:
        self._sending = sending

    async def draft(self, entry: PlannedTimetable, plan: Schedule, at_ms: int) -> Draft:
        """Draft the message of one tick."""
        if entry.body is None:
            return await self._sending.draft_tick(entry.queue, tick_body(plan, at_ms))
        send = Send(entry.queue, entry.body, tenant=plan.tenant)
        _, drafted = await self._sending.draft_or_why(send)
        if isinstance(drafted, PostroadError):
            raise drafted
        return drafted

    def forget(self, entry: PlannedTimetable) -> None:
        """Look for its queue again: it was deleted."""
        self._sending.forget([Send(entry.queue, None, tenant=entry.plan.tenant)])


class TickDecider:
    """Decides ticks that have come."""

    def __init__(self, store: Ticks, drafts: TickDrafts, log: Log) -> None:
        self._store = store
        self._drafts = drafts
        self._log = log

    async def decide(
        self, entry: PlannedTimetable, plan: Schedule, now_ms: int, *, sends: bool = True
    ) -> bool:
        """Decide the ticks of a plan that are due, at most a batch. False: it was changed. Unless
        it `sends`, all are noted as skipped."""
        found, next_ms = come(plan, entry.decided_ms, now_ms)
        chosen = to_send(found, next_ms, entry.missed, now_ms) if sends else set()
        drafts = {at_ms: await self._drafts.draft(entry, plan, at_ms) for at_ms in chosen}
        if not found and entry.body is None:
            entry.next_ms = next_ms
            return True
        ticks = [Tick(at_ms, drafts.get(at_ms)) for at_ms in found]
        until_ms = found[-1] if found else entry.decided_ms
        # One that has more to catch up with goes behind others that are due.
        look_ms = NEVER if entry.body is None else max(next_ms, now_ms)
        try:
            stored = await self._store.tick(plan, ticks, until_ms, look_ms)
        except QueueGone:
            self._drafts.forget(entry)
            raise
        if stored is None or stored.version != plan.version:
            return False
        # Only now: ticks that the store did not take are due still.
        entry.decided_ms, entry.next_ms = stored.decided_ms, next_ms
        if found and now_ms - found[0] > LATE_MS:
            self._log.warning(
                "ticks were missed", schedule=plan.name, count=len(found), sent=len(chosen)
            )
        return True


class Scheduler:
    """Sleeps until the next tick of any timetable, then decides it with the store. The timetables
    of the program are known to it; those made at run time are read when they are due."""

    def __init__(
        self,
        store: Ticks,
        clock: Clock,
        entries: Sequence[PlannedTimetable],
        drafts: TickDrafts,
        log: Log,
        owner: int,
    ) -> None:
        self._store = store
        self._clock = clock
        self._entries = entries
        self._decider = TickDecider(store, drafts, log)
        self._log = log
        self._owner = owner
        self._look_ms = 0
        self._changed = False
        self._wake = asyncio.Event()
        self.caught_up = asyncio.Event()
        """Set when all ticks that were missed before the start are decided."""

    async def run(self) -> None:
        """Decide every tick when it comes."""
        self._store.hear_timetables(self._owner, self._ring)
        try:
            while True:
                wakes_ms = [await self._forget()]
                wakes_ms += [await self._serve(entry) for entry in self._entries]
                wakes_ms.append(await self._serve_made())
                wait_s = (min(wakes_ms) - self._clock.now_ms()) / 1000
                if wait_s > 0:
                    self.caught_up.set()
                    await self._rest(min(wait_s, WATCH_S))
        finally:
            self.caught_up.set()  # nobody must wait for a broken scheduler

    def _ring(self) -> None:
        self._changed = True
        self._wake.set()

    async def _forget(self) -> int:
        """Read timetables again, if somebody has changed some; returns when to try that again."""
        if not self._changed:
            return NEVER
        self._changed, self._look_ms = False, 0
        try:
            versions = await self._store.declared_versions() if self._entries else {}
        except StoreError as error:
            self._failed(error)
            self._changed = True
            return self._clock.now_ms() + RETRY_MS
        for entry in self._entries:
            if versions.get(entry.plan.name) != entry.plan.version:
                entry.is_open = False
        return NEVER

    def _failed(self, error: PostroadError, **facts: str) -> None:
        away = isinstance(error, StoreUnavailable)  # which is logged for all parts at once
        tell = self._log.debug if away else self._log.warning
        tell(FAILED, **facts, error=str(error))

    async def _rest(self, wait_s: float) -> None:
        timer = self._clock.later(max(1, round(wait_s * 1000)), self._wake.set)
        await self._wake.wait()
        self._wake.clear()
        timer.cancel()

    # Timetables of the program

    async def _serve(self, entry: PlannedTimetable) -> int:
        """Decide the ticks that are due; returns the time of the next one."""
        try:
            if not entry.is_open:
                entry.is_open = await self._open(entry)
            while entry.is_open and entry.next_ms <= self._clock.now_ms():
                if not await self._decider.decide(entry, entry.plan, self._clock.now_ms()):
                    entry.is_open = False
        except PostroadError as error:
            self._failed(error, schedule=entry.plan.name)
            wait_ms = RETRY_MS if isinstance(error, StoreError) else POSTPONE_MS
            return self._clock.now_ms() + wait_ms
        return entry.next_ms if entry.is_open else 0

    async def _open(self, entry: PlannedTimetable) -> bool:
        """Read what is decided, and go over to the plan of the program. False: it was changed
        meanwhile."""
        stored = await self._store.open_schedule(Timetabled(entry.plan, entry.queue, entry.missed))
        if stored is None:
            self._log.error(TAKEN, schedule=entry.plan.name)
            entry.next_ms = NEVER
            return True
        entry.plan = replace(entry.plan, version=stored.version, paused=stored.paused)
        entry.decided_ms = entry.next_ms = stored.decided_ms
        if stored.decided_ms > self._clock.now_ms() + LATE_MS:
            # Some process had a clock that was ahead. No tick may come twice, so they wait.
            self._log.error(
                "the last tick is in the future: no ticks before it", until_ms=stored.decided_ms
            )
        changes = (stored.cron, stored.tz) != (entry.plan.cron, entry.plan.tz)
        if changes and not await self._change(entry, stored):
            return False
        if entry.plan.paused:
            entry.next_ms = NEVER
        return True

    async def _change(self, entry: PlannedTimetable, old: Schedule) -> bool:
        """Decide the ticks of the old plan that were missed, then use the new plan. False: it was
        paused or resumed at this moment."""
        self._log.info("schedule changed", schedule=old.name, cron=entry.plan.cron, was=old.cron)
        try:
            check_plan(old.cron, old.tz)
        except BadInput as error:
            self._log.warning("cannot read the old plan of a schedule", error=str(error))
            entry.next_ms = NEVER
        now_ms = self._clock.now_ms()
        while entry.next_ms <= now_ms and not old.paused:
            if not await self._decider.decide(entry, old, now_ms):
                return False
        stored = await self._store.tick(entry.plan, [], now_ms, NEVER)
        if stored is None or stored.version != entry.plan.version:
            return False
        entry.decided_ms = entry.next_ms = stored.decided_ms
        return True

    # Timetables that were made at run time

    async def _serve_made(self) -> int:
        """Decide a batch of each of those that are due first; returns when to look again."""
        if self._look_ms > self._clock.now_ms():
            return self._look_ms
        try:
            rows = await self._store.timetables_next(LOOK_COUNT)
            now_ms = self._clock.now_ms()
            for row in rows:
                if row.look_ms <= now_ms:
                    await self._serve_row(row, now_ms)
        except StoreError as error:
            self._failed(error)
            return self._clock.now_ms() + RETRY_MS
        next_ms = rows[0].look_ms if rows else NEVER  # one that was due is looked at once more
        self._look_ms = min(next_ms, now_ms + LOOK_MS)
        return self._look_ms

    async def _serve_row(self, row: Timetabled, now_ms: int) -> None:
        entry = planned(row)
        try:
            _ = await self._decider.decide(entry, row.plan, now_ms)  # if not, it is read again
        except StoreError:
            raise
        except PostroadError as error:  # only this one waits
            about, why = {"tenant": row.plan.tenant, "schedule": row.plan.name}, str(error)
            self._log.warning("a timetable cannot be served: trying again", **about, error=why)
            later_ms = now_ms + POSTPONE_MS
            await self._store.timetable_postpone(row.plan, later_ms, why[:ERROR_MAX])
