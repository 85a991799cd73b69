"""Timetables in the store: each tick is decided once in the whole fleet."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from postroad.model.ticks import Schedule, Tick, TickNote


@runtime_checkable
class Ticks(Protocol):
    """What a store does for timetables. `retain` deletes notes as it deletes finished work."""

    async def open_schedule(self, schedule: Schedule) -> Schedule:
        """The schedule of that name as it is stored; a new one is decided up to now."""

    async def tick(self, schedule: Schedule, ticks: Sequence[Tick], until_ms: int) -> Schedule:
        """In one transaction: note the fate of these ticks, store the messages of those to be
        sent, and count the schedule as decided up to `until_ms`. A tick that was decided before
        is left alone. Answers the schedule as it is then stored."""

    async def tick_notes(self, name: str, after_ms: int, limit: int) -> list[TickNote]:
        """What became of a schedule's ticks after a time, in order."""
