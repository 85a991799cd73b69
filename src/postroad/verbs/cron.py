"""Timetables: each tick is decided once in the whole fleet."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from msgspec import Struct

from postroad.model.entities import Draft
from postroad.model.errors import BadInput, StoreError
from postroad.model.states import NEVER
from postroad.model.texts import checked
from postroad.model.ticks import Missed, Schedule, Tick
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.ticks import Ticks

LATE_MS: Final = 60_000
"""A tick that is found later than this was missed."""
BATCH: Final = 500
"""Ticks decided by one transaction; finding them takes 20 to 40 ms."""
WATCH_S: Final = 300.0
"""How often the wall clock is read, since it may be set or the machine may have slept. This makes
no query."""
RETRY_S: Final = 1.0
SOME_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)


def check_plan(cron: str, tz: str) -> None:
    """Raise BadInput for a cron line or time zone that is wrong, or that has no ticks."""
    if not isinstance(cron, str):
        raise BadInput(f"{cron!r} is no timetable: write @road.every('*/5 * * * *')")
    _ = checked("cron", cron), checked("tz", tz)  # whether they are short enough
    try:
        zone = ZoneInfo(tz)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise BadInput(
            f"tz={tz!r} is not a time zone: give a name like 'UTC' or 'Europe/Berlin'"
        ) from None
    try:
        next(CronSim(cron, SOME_DAY.astimezone(zone)))
    except CronSimError as error:
        raise BadInput(
            f"cron {cron!r}: {str(error).lower()}; give minute, hour, day of month, month and day "
            "of week, like '*/5 * * * *'"
        ) from None
    except StopIteration:
        raise BadInput(f"cron {cron!r} never comes: no such day in fifty years") from None


def ticks_after(schedule: Schedule, after_ms: int) -> Iterator[int]:
    """The ticks of a timetable after a time. A local time that a day skips comes right after the
    gap; one that a day has twice comes the first time."""
    after = datetime.fromtimestamp(after_ms / 1000, ZoneInfo(schedule.tz))
    for moment in CronSim(schedule.cron, after):
        # In the hour that a clock repeats, CronSim may start with one that is over.
        if (at_ms := int(moment.timestamp() * 1000)) > after_ms:
            yield at_ms


def come(schedule: Schedule, decided_ms: int, now_ms: int) -> tuple[list[int], int]:
    """The ticks that are due and not decided, at most a batch; and the one after them."""
    found: list[int] = []
    for at_ms in ticks_after(schedule, decided_ms):
        if at_ms > now_ms or len(found) == BATCH:
            return found, at_ms
        found.append(at_ms)
    return found, NEVER


def to_send(found: Sequence[int], next_ms: int, missed: Missed, now_ms: int) -> set[int]:
    """Which of the ticks that are due get a message."""
    match missed:
        case Missed.all:
            return set(found)
        case Missed.latest:
            return set(found[-1:]) if next_ms > now_ms else set()
        case Missed.skip:
            return {at_ms for at_ms in found if now_ms - at_ms <= LATE_MS}


class Timetable(Struct):
    """A timetable of this process: its plan, its last and next ticks, and its queue."""

    plan: Schedule
    missed: Missed
    queue: str
    is_open: bool = False
    decided_ms: int = 0
    next_ms: int = 0


Drafting = Callable[[str, object], Awaitable[Draft]]


class Scheduler:
    """Sleeps until the next tick of any timetable, then decides it with the store."""

    def __init__(
        self,
        store: Ticks,
        clock: Clock,
        entries: Sequence[Timetable],
        drafting: Drafting,
        log: Log,
    ) -> None:
        self._store = store
        self._clock = clock
        self._entries = entries
        self._drafting = drafting
        self._log = log
        self.caught_up = asyncio.Event()
        """Set when all ticks that were missed before the start are decided."""

    async def run(self) -> None:
        """Decide every tick when it comes."""
        try:
            while True:
                wakes_ms = [await self._serve(entry) for entry in self._entries]
                self.caught_up.set()
                wait_s = (min(wakes_ms) - self._clock.now_ms()) / 1000
                await self._clock.sleep(max(0.0, min(wait_s, WATCH_S)))
        finally:
            self.caught_up.set()  # nobody must wait for a broken scheduler

    async def _serve(self, entry: Timetable) -> int:
        """Decide the ticks that are due; returns the time of the next one."""
        try:
            if not entry.is_open:
                await self._open(entry)
            while entry.next_ms <= self._clock.now_ms():
                await self._decide(entry, entry.plan, self._clock.now_ms())
        except StoreError as error:
            self._log.warning(
                "could not decide ticks: trying again", schedule=entry.plan.name, error=str(error)
            )
            return self._clock.now_ms() + int(RETRY_S * 1000)
        return entry.next_ms

    async def _open(self, entry: Timetable) -> None:
        stored = await self._store.open_schedule(entry.plan)
        entry.decided_ms = entry.next_ms = stored.decided_ms
        if stored.decided_ms > self._clock.now_ms() + LATE_MS:
            # Some process had a clock that was ahead. No tick may come twice, so they wait.
            self._log.error(
                "the last tick is in the future: no ticks before it", until_ms=stored.decided_ms
            )
        if (stored.cron, stored.tz) != (entry.plan.cron, entry.plan.tz):
            await self._change(entry, stored)
        entry.is_open = True

    async def _change(self, entry: Timetable, old: Schedule) -> None:
        """Decide the ticks of the old plan that were missed, then use the new plan."""
        self._log.info("schedule changed", schedule=old.name, cron=entry.plan.cron, was=old.cron)
        try:
            check_plan(old.cron, old.tz)
        except BadInput as error:
            self._log.warning("cannot read the old plan of a schedule", error=str(error))
            entry.next_ms = NEVER
        while entry.next_ms <= self._clock.now_ms():
            await self._decide(entry, old, self._clock.now_ms())
        now_ms = entry.next_ms = self._clock.now_ms()
        entry.decided_ms = (await self._store.tick(entry.plan, [], now_ms)).decided_ms

    async def _decide(self, entry: Timetable, plan: Schedule, now_ms: int) -> None:
        found, next_ms = come(plan, entry.decided_ms, now_ms)
        chosen = to_send(found, next_ms, entry.missed, now_ms)
        drafts = {at_ms: await self._draft(entry, plan, at_ms) for at_ms in chosen}
        if found:
            ticks = [Tick(at_ms, drafts.get(at_ms)) for at_ms in found]
            entry.decided_ms = (await self._store.tick(plan, ticks, found[-1])).decided_ms
            if now_ms - found[0] > LATE_MS:
                self._log.warning(
                    "ticks were missed", schedule=plan.name, count=len(found), sent=len(chosen)
                )
        entry.next_ms = next_ms

    async def _draft(self, entry: Timetable, plan: Schedule, at_ms: int) -> Draft:
        at = datetime.fromtimestamp(at_ms / 1000, ZoneInfo(plan.tz)).isoformat()
        return await self._drafting(entry.queue, {"schedule": plan.name, "at": at})
