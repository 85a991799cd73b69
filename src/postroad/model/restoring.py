"""What a road that was restored from a backup would send again."""

from msgspec import Struct

from postroad.model.errors import StoreError


class RoadHeld(StoreError):
    """The road was restored from a backup and is held, so nothing of it runs. `postroad store
    restored` tells what it would send; `postroad store release` lets it go."""


class Restoration(Struct, frozen=True):
    """That a road was restored, and is held. `backup_at_ms`: when its backup was made, 0 if nobody
    knows. `held_at_ms`: since when nothing of it may run; 0 is not at all."""

    backup_at_ms: int
    held_at_ms: int = 0
    reason: str = ""


class RestoredTotals(Struct, frozen=True):
    """What was not finished when the backup was made. `due`: messages that may have been sent
    since. `later`: those that were not due before now, so nobody has sent them."""

    due: int
    later: int
    recipients: int
    """Recipients of running campaigns."""
    letters: int
    """In mailboxes: they may have been fetched since."""
    timetables: int
    replays: int


class RestoredQueue(Struct, frozen=True):
    """What waits in one queue."""

    tenant: str
    queue: str
    due: int
    later: int
    first_due_ms: int


class RestoredReport(Struct, frozen=True):
    """What is known before a restored road starts. `known`: the backup says when it was made;
    otherwise `backup_at_ms` is when the road was last at work."""

    backup_at_ms: int
    known: bool
    now_ms: int
    held_at_ms: int
    reason: str
    totals: RestoredTotals
    queues: list[RestoredQueue]
