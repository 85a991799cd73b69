"""Timetables in the store: each tick is decided once in the whole fleet."""

from collections.abc import Callable, Sequence
from typing import Protocol

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.states import NEVER
from postroad.model.ticks import Schedule, Tick, TickNote, Timetabled


class Ticks(Protocol):
    """What a store does for timetables. `retain` deletes notes as it deletes finished work."""

    async def open_schedule(self, declared: Timetabled) -> Schedule | None:
        """The schedule of a timetable of code as it is stored; a new one is decided up to now.
        None: one of that name was made at run time."""

    async def tick(
        self, schedule: Schedule, ticks: Sequence[Tick], until_ms: int, look_ms: int = NEVER
    ) -> Schedule | None:
        """In one transaction: note the fate of these ticks, store the messages of those to be
        sent, count the schedule as decided up to `until_ms`, and have it looked at next at
        `look_ms`. A tick that was decided before is left alone. Answers the schedule as it is
        then stored: if its version is another one, nothing was done. None: it is gone."""

    async def tick_notes(
        self, name: str, after_ms: int, limit: int, tenant: str = DEFAULT_TENANT
    ) -> list[TickNote]:
        """What became of a schedule's ticks after a time, in order."""

    async def timetable_add(self, made: Timetabled) -> bool:
        """Store a timetable that is made at run time; False if its name is taken."""

    async def timetable_put(self, changed: Timetabled, version: int) -> bool:
        """Change a timetable that has this version; its schedule has the new one. What is decided
        stays so."""

    async def timetable_drop(self, tenant: str, name: str, version: int) -> bool:
        """Delete a timetable that has this version."""

    async def timetable_page(
        self, tenant: str, name: str, after: str, limit: int
    ) -> list[Timetabled]:
        """List a tenant's timetables by name, from after one on, without their bodies; `name`
        means one, with its body, "" all."""

    async def declared_versions(self) -> dict[str, int]:
        """The versions of the timetables of code, by name."""

    async def timetables_next(self, limit: int) -> list[Timetabled]:
        """The timetables that are to be looked at first, in order of time, of all tenants."""

    async def timetable_postpone(self, plan: Schedule, look_ms: int, error: str) -> None:
        """Have a timetable looked at later, and note why; unless it was changed."""

    def hear_timetables(self, who: int, call: Callable[[], None]) -> None:
        """Call it when timetables were changed, here or in another process."""
