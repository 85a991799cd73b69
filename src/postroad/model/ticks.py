"""Values of timetables: a schedule, its ticks, and what becomes of each."""

from enum import StrEnum

from msgspec import Struct

from postroad.model.entities import Draft


class Missed(StrEnum):
    """What is done about ticks that were missed while no process ran."""

    latest = "latest"
    """One message for the latest of them; the others are noted as skipped."""
    all = "all"
    """One message for each."""
    skip = "skip"
    """None; all are noted as skipped."""


class Fate(StrEnum):
    """What became of a tick."""

    sent = "sent"
    skipped = "skipped"


class Schedule(Struct, frozen=True):
    """When something is to be done. `decided_ms`: the fate of every tick up to then is noted."""

    name: str
    cron: str
    tz: str
    decided_ms: int = 0


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
