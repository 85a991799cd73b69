"""Timetables: the process that notes a tick first sends its message."""

from collections.abc import Sequence

from postroad.model.states import NEVER
from postroad.model.ticks import Fate, Schedule, Tick, Timetabled, TimetableOrigin
from postroad.stores.sqlite import inbox
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database
from postroad.stores.ticks import LABEL, TimetableTables


class SqliteTicks(SqliteBase, TimetableTables):
    """Stores timetables; each tick is decided once."""

    async def open_schedule(self, declared: Timetabled) -> Schedule | None:
        """The schedule of a timetable of code as it is stored; a new one is decided up to now."""
        now_ms = self.clock.now_ms()
        return await self.write(LABEL, lambda db: _open(db, declared, now_ms))

    async def tick(
        self, schedule: Schedule, ticks: Sequence[Tick], until_ms: int, look_ms: int = NEVER
    ) -> Schedule | None:
        """Note what becomes of ticks and store their messages, but for those decided before."""
        now_ms = self.clock.now_ms()
        until = (until_ms, look_ms)
        return await self.write(
            LABEL, lambda db: _tick(db, schedule, ticks, until, now_ms), durable=True
        )


def _open(db: Database, declared: Timetabled, now_ms: int) -> Schedule | None:
    plan = declared.plan
    sent = (declared.queue, declared.missed.value)
    db.run("schedule_insert", plan.tenant, plan.name, plan.cron, plan.tz, *sent, now_ms)
    return _find(db, plan.tenant, plan.name, TimetableOrigin.code)


def _find(db: Database, tenant: str, name: str, origin: str = "") -> Schedule | None:
    row = db.one("schedule_find", tenant, name, origin)
    return None if row is None else Schedule(*(*row[:8], bool(row[8])))


def _tick(
    db: Database, schedule: Schedule, ticks: Sequence[Tick], until: tuple[int, int], now_ms: int
) -> Schedule | None:
    whose = (schedule.tenant, schedule.name)
    known = _find(db, *whose)
    if known is None or known.version != schedule.version:
        return known
    # Notes are deleted after a while, `decided_to` never: it keeps a tick from being sent twice,
    # also by a process that stood still for weeks.
    for tick in (tick for tick in ticks if tick.at_ms > known.decided_ms):
        if tick.draft is None:
            db.run("tick_insert", *whose, tick.at_ms, Fate.skipped, 0, now_ms)
        else:
            number = inbox.accept(db, [tick.draft])[0].id
            db.run("tick_insert", *whose, tick.at_ms, Fate.sent, number, now_ms)
    db.run("schedule_decide", *whose, schedule.cron, schedule.tz, *until)
    return _find(db, *whose)
