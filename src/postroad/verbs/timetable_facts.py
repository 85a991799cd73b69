"""What is shown of a timetable."""

from typing import Any

from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.model.states import NEVER
from postroad.model.ticks import Missed, Timetabled, TimetableOrigin
from postroad.verbs.cron import ticks_after, told_when


class Timetable(Struct, frozen=True):
    """A timetable: when it comes, and what it sends where."""

    name: str
    origin: TimetableOrigin
    """`code`: a program declares it; `made`: at run time."""
    when: str
    """In words."""
    cron: str
    every_s: float
    """0 with a cron line."""
    zone: str
    missed: Missed
    queue: str
    paused: bool
    next_at_ms: int | None
    """When it is due next; None while it is paused."""
    decided_to_ms: int
    """What became of all ticks up to then is decided."""
    changed_at_ms: int
    error: str
    """Why its last ticks could not be sent; they are tried again every minute."""
    next_ms: tuple[int, ...] = ()
    """The next times, of one that is shown."""
    body: Any = None
    """What it sends, of one that is shown."""
    body_base64: str | None = None
    """In answers over HTTP, what stands for a body that is bytes."""
    hidden: str = ""
    """Why the body is not shown."""


class TimetablePage(Struct, frozen=True):
    """A page of timetables by name. `after` is for the next page; "" is the end."""

    timetables: tuple[Timetable, ...]
    after: str = ""


class TimetableRun(Struct, frozen=True):
    """The message that a timetable sent because somebody asked for it."""

    id: str
    queue: str


def timetable_facts(row: Timetabled, now_ms: int) -> Timetable:
    """What is shown of a timetable in a list."""
    plan = row.plan
    return Timetable(
        name=plan.name,
        origin=row.origin,
        when=told_when(plan),
        cron=plan.cron,
        every_s=plan.every_ms / 1000,
        zone=plan.tz,
        missed=row.missed,
        queue=row.queue,
        paused=plan.paused,
        next_at_ms=_next_ms(row, now_ms),
        decided_to_ms=plan.decided_ms,
        changed_at_ms=row.changed_ms,
        error=row.error,
    )


def _next_ms(row: Timetabled, now_ms: int) -> int | None:
    if row.plan.paused:
        return None
    try:
        known = row.origin is TimetableOrigin.made
        next_ms = row.look_ms if known else next(ticks_after(row.plan, now_ms), NEVER)
    except BadInput:  # a zone that this machine does not know
        return None
    return None if next_ms == NEVER else next_ms
