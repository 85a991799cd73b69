"""Values of timetables: a schedule, its ticks, and what becomes of each."""

from enum import StrEnum
from typing import Final

from msgspec import Raw, Struct

from postroad.model.entities import DEFAULT_TENANT, Draft
from postroad.model.errors import BadInput
from postroad.model.states import NEVER

BODY_BYTES_MAX: Final = 65_536
"""Maximum size of a timetable's body: all timetables that are due next are read with their
bodies."""


class UnknownTimetable(BadInput):
    """No timetable of that name is known. Check the name and its tenant: see `postroad timetable
    list`."""


class DeclaredInCode(BadInput):
    """The timetable is declared in a program, which alone changes it or takes it away. It can be
    paused, resumed and run now."""


class Missed(StrEnum):
    """What is done about ticks that were missed while no process ran."""

    latest = "latest"
    """One message for the latest of them; the others are noted as skipped."""
    all = "all"
    """One message for each."""
    skip = "skip"
    """None is sent; all are noted as skipped."""


class Fate(StrEnum):
    """What became of a tick."""

    sent = "sent"
    skipped = "skipped"


class TimetableOrigin(StrEnum):
    """Where a timetable comes from."""

    code = "code"
    """`road.every` in a program."""
    made = "made"
    """The timetable was made at run time."""


class Schedule(Struct, frozen=True):
    """When something is to be done. `decided_ms`: the fate of every tick up to then is noted."""

    name: str
    cron: str
    tz: str
    decided_ms: int = 0
    tenant: str = DEFAULT_TENANT
    every_ms: int = 0
    """Without a cron line: so often,"""
    start_ms: int = 0
    """counted from then."""
    version: int = 0
    """Another one after each change, pause and resume: what was decided by an older one is
    refused."""
    paused: bool = False


class Timetabled(Struct, frozen=True):
    """A timetable as it is stored: its schedule, and what is sent where."""

    plan: Schedule
    queue: str
    missed: Missed
    body: bytes = b""
    origin: TimetableOrigin = TimetableOrigin.code
    look_ms: int = NEVER
    """When those who decide ticks have to look at it; never while it is paused, or of code."""
    changed_ms: int = 0
    error: str = ""
    """Why its last ticks could not be sent; they are tried again."""
    is_bytes: bool = False
    """The timetable sends bytes as they are, not JSON."""

    @property
    def content(self) -> Raw | bytes:
        """What it sends, as a send takes it."""
        return self.body if self.is_bytes else Raw(self.body)


class Tick(Struct, frozen=True):
    """A tick whose time has come; without a draft it is skipped."""

    at_ms: int
    draft: Draft | None = None


class TickNote(Struct, frozen=True):
    """What became of one tick; `message` is the id of its message, if one was sent."""

    at_ms: int
    fate: Fate
    message: int
    decided_at_ms: int
