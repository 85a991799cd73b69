"""Schedules: whoever notes a tick first sends its message."""

from collections.abc import Sequence

from postroad.model.errors import StoreError
from postroad.model.ticks import Fate, Schedule, Tick
from postroad.stores.sqlite import inbox
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database
from postroad.stores.ticks import TickNotes


class SqliteTicks(TickNotes, SqliteBase):
    """Stores schedules; each tick is decided once."""

    async def open_schedule(self, schedule: Schedule) -> Schedule:
        """The schedule of that name as it is stored; a new one is decided up to now."""
        now_ms = self.clock.now_ms()
        return await self.write("cron", lambda db: _open(db, schedule, now_ms))

    async def tick(self, schedule: Schedule, ticks: Sequence[Tick], until_ms: int) -> Schedule:
        """Note what becomes of ticks and store their messages, but for those decided before."""
        now_ms = self.clock.now_ms()
        return await self.write(
            "cron", lambda db: _tick(db, schedule, ticks, until_ms, now_ms), durable=True
        )


def _open(db: Database, schedule: Schedule, now_ms: int) -> Schedule:
    db.run("schedule_insert", schedule.name, schedule.cron, schedule.tz, now_ms)
    return _find(db, schedule.name)


def _find(db: Database, name: str) -> Schedule:
    row = db.one("schedule_find", name)
    if row is None:
        raise StoreError(f"the schedule {name!r} is not in this road: open it first")
    return Schedule(*row)


def _tick(
    db: Database, schedule: Schedule, ticks: Sequence[Tick], until_ms: int, now_ms: int
) -> Schedule:
    known = _find(db, schedule.name)
    # Notes are deleted after a while, `decided_to` never: it keeps a tick from being sent twice,
    # also by a process that stood still for weeks.
    for tick in (tick for tick in ticks if tick.at_ms > known.decided_ms):
        if tick.draft is None:
            db.run("tick_insert", schedule.name, tick.at_ms, Fate.skipped, 0, now_ms)
        else:
            number = inbox.accept(db, [tick.draft])[0].id
            db.run("tick_insert", schedule.name, tick.at_ms, Fate.sent, number, now_ms)
    db.run("schedule_decide", schedule.name, schedule.cron, schedule.tz, until_ms)
    return _find(db, schedule.name)
