"""Timetables as rows: what both databases do alike."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Final

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.states import NEVER
from postroad.model.ticks import Fate, Missed, Schedule, TickNote, Timetabled, TimetableOrigin
from postroad.stores.statements import Row, Statements, Value

LABEL: Final = "cron"


class TimetableTables(Statements):
    """Stores timetables, and lists what became of ticks."""

    async def tick_notes(
        self, name: str, after_ms: int, limit: int, tenant: str = DEFAULT_TENANT
    ) -> list[TickNote]:
        """What became of a schedule's ticks after a time, in order."""
        rows = await self.select("insight", "tick_notes", tenant, name, after_ms, limit)
        return [TickNote(at, Fate(fate), message, decided) for at, fate, message, decided in rows]

    async def timetable_add(self, made: Timetabled) -> bool:
        """Store a new timetable; False if its name is taken."""
        return await self._rung("timetable_insert", *row_values(made))

    async def timetable_put(self, changed: Timetabled, version: int) -> bool:
        """Change a timetable that has this version."""
        return await self._rung("timetable_put", *row_values(changed), version)

    async def timetable_drop(self, tenant: str, name: str, version: int) -> bool:
        """Delete a timetable that has this version."""
        return await self._rung("timetable_delete", tenant, name, version)

    async def timetable_page(
        self, tenant: str, name: str, after: str, limit: int
    ) -> list[Timetabled]:
        """A tenant's timetables by name."""
        rows = await self.select(LABEL, "timetable_page", tenant, name, after, limit)
        return [read_row(row) for row in rows]

    async def declared_versions(self) -> dict[str, int]:
        """The versions of the timetables of code, by name."""
        return dict(await self.select(LABEL, "declared_versions", DEFAULT_TENANT))

    async def timetables_next(self, limit: int) -> list[Timetabled]:
        """The timetables that are to be looked at first."""
        rows = await self.select(LABEL, "timetables_next", NEVER, limit)
        return [read_row(row) for row in rows]

    async def timetable_postpone(self, plan: Schedule, look_ms: int, error: str) -> None:
        """Have a timetable looked at later."""
        values = (plan.tenant, plan.name, plan.version, look_ms, error)
        await self.execute(LABEL, "timetable_postpone", *values)

    def hear_timetables(self, who: int, call: Callable[[], None]) -> None:
        """Call it when timetables were changed, in any process."""
        self.hear_own(f"timetables {who}", call)

    async def _rung(self, statement: str, *values: Value) -> bool:
        """Change something, and tell those who decide ticks."""
        done = await self.changes(LABEL, statement, *values)
        if done:
            await self.ring_own("timetables")
        return done

    @abstractmethod
    def hear_own(self, who: str, call: Callable[[], None]) -> None:
        """Call it when somebody rings for jobs."""

    @abstractmethod
    async def ring_own(self, kind: str) -> None:
        """Tell every process that jobs of a kind have work."""


def row_values(one: Timetabled) -> tuple[Value, ...]:
    """A timetable as a row."""
    plan = one.plan
    when = (plan.cron, plan.tz, plan.every_ms, plan.start_ms, plan.decided_ms)
    sent = (one.queue, one.body, one.is_bytes, one.missed.value)
    state = (plan.paused, one.look_ms, plan.version, one.changed_ms, one.error)
    return (plan.tenant, plan.name, one.origin.value, *when, *sent, *state)


def read_row(row: Row) -> Timetabled:
    """A timetable from its row."""
    tenant, name, origin, cron, tz, every_ms, start_ms, decided_ms, *rest = row
    queue, body, is_bytes, missed, paused, look_ms, version, changed_ms, error = rest
    when = (cron, tz, decided_ms, tenant, every_ms, start_ms)
    plan = Schedule(name, *when, version, bool(paused))
    told = (look_ms, changed_ms, error, bool(is_bytes))
    return Timetabled(plan, queue, Missed(missed), body, TimetableOrigin(origin), *told)
