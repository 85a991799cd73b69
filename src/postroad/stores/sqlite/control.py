"""Cancel, settle, pause, resume, unblock."""

from collections.abc import Sequence
from typing import Final

from postroad.model.control import CancelSlice, CancelState, Cursor, MessageFilter
from postroad.model.entities import Lane
from postroad.model.record import Reaped
from postroad.stores.bell import Ring
from postroad.stores.sqlite import leases, recording
from postroad.stores.sqlite.batches import DELIVERED, end_members
from postroad.stores.sqlite.database import Database, Row
from postroad.stores.sqlite.inbox import check_queue, rung_of, wake

RUNGS_MAX: Final = 500
"""Maximum rungs in one slice of a walk: a tenant may have many empty queues."""


WISHES_MAX: Final = 500


def cancel(
    db: Database, tenant: str, number: int, now_ms: int, *, running: bool = False
) -> CancelState:
    """Cancel a message that nobody owns, or ask the owner of its lane; with `running`, to stop its
    try, too."""
    row = db.one("live_message", number)
    if row is None or row[3] != tenant:
        finished = db.one("finished_message", number, tenant)
        return CancelState(finished[0]) if finished else CancelState.unknown
    lane, owner, level, _ = row
    if owner is not None and level >= 0:
        _ask_owner(db, owner, lane, [number], running=running)
        return CancelState.pending
    recording.cancel(db, number, now_ms)
    return CancelState.cancelled


def reap(db: Database, heard_before_ms: int, now_ms: int) -> Reaped:
    """Free the lanes of owners that were not heard from. First cancel what they were asked to
    cancel, in slices: 300,000 at once would hold the writer for seconds."""
    if db.all("dead_owners", heard_before_ms):
        wishes = db.all("unwanted", heard_before_ms, WISHES_MAX)
        if wishes:
            recording.cancel_all(db, wishes, now_ms)
            return Reaped((), owned=True, wishes=len(wishes))
    return leases.reap(db, heard_before_ms)


def withdraw(db: Database, owner: int, lane: Lane, ids: Sequence[int], now_ms: int) -> bool:
    """Cancel messages of a lane for its owner; False if it has another owner."""
    if db.one("lane_fence", lane.id) != (owner, lane.epoch):
        return False
    found = [(number, db.one("message_rung", number)) for number in ids]
    recording.cancel_all(db, [(number, *row) for number, row in found if row], now_ms)
    return True


def settle(db: Database, tenant: str, number: int, now_ms: int, *, sent: bool) -> bool:
    """Settle an uncertain message."""
    row = db.one("uncertain_message", number, tenant)
    if row is None:
        return False
    if sent:
        db.run("history_settle", number, now_ms)
        recording.finish(db, number)
        end_members(db, [number], DELIVERED, now_ms)
        return True
    lane, queue, level, priority = row
    # In an ordered queue the messages behind it have gone: it goes outside its order group.
    rung = rung_of(db, lane, queue, level, priority, 0)
    db.run("message_again", number, rung, now_ms)
    wake(db, rung, now_ms)
    return True


def cancel_some(
    db: Database, which: MessageFilter, after: Cursor, limit: int, now_ms: int
) -> CancelSlice:
    """Cancel the next messages of a walk over the rungs of a queue, or of a tenant's queues."""
    states: dict[int, CancelState] = {}
    rungs = _rungs(db, which, after.rung)
    left, at = limit, after
    for rung, lane, owner, level in rungs:
        at = at if at.rung == rung else Cursor(rung)
        rows = db.all("rung_walk", rung, at.place, at.id, left)
        meant = [(number, rung, place) for place, number, *rest in rows if _is_meant(which, *rest)]
        numbers = [number for number, *_ in meant]
        if owner is not None and level >= 0:
            _ask_owner(db, owner, lane, numbers)
            states |= dict.fromkeys(numbers, CancelState.pending)
        else:
            recording.cancel_all(db, meant, now_ms)
            states |= dict.fromkeys(numbers, CancelState.cancelled)
        left -= len(rows)
        if not left:
            return CancelSlice(states, Cursor(rung, *rows[-1][:2]))
    return CancelSlice(states, Cursor(rungs[-1][0] + 1) if len(rungs) == RUNGS_MAX else None)


def _rungs(db: Database, which: MessageFilter, first: int) -> list[Row]:
    if which.queue:
        return db.all("rungs_of_queue", which.tenant, which.queue, first, RUNGS_MAX)
    return db.all("rungs_of_tenant", which.tenant, first, RUNGS_MAX)


def _is_meant(which: MessageFilter, accepted_at_ms: int, order_key: str) -> bool:
    here = accepted_at_ms < which.accepted_before_ms
    return here and which.order_key in ("", order_key)


def _ask_owner(
    db: Database, owner: int, lane: int, numbers: Sequence[int], *, running: bool = False
) -> None:
    db.many("message_unwanted", [(number,) for number in numbers])
    sign = -1 if running else 1
    db.rings += [Ring(owner, lane, 0, 0, 0, recall=sign * number) for number in numbers]


def pause_queue(db: Database, queue: int, now_ms: int, *, paused: bool) -> None:
    """Pause or resume a queue; the spell of its block does not count the pause."""
    check_queue(db, queue)
    db.run("queue_pause" if paused else "queue_resume", queue, now_ms)
    _gate(db, queue)


def unblock_queue(db: Database, queue: int) -> None:
    """Lift a queue's block."""
    recording.set_block(db, queue, None)
    _gate(db, queue)


def _gate(db: Database, queue: int) -> None:
    db.run("queue_gate", queue)
    for (lane,) in db.all("queue_lanes", queue):
        recording.touch_lane(db, lane)


def pause_lane(db: Database, lane: int, now_ms: int, *, paused: bool) -> None:
    """Pause or resume a lane; the time that its server is away does not count the pause."""
    db.run("lane_pause" if paused else "lane_resume", lane, now_ms)
    recording.touch_lane(db, lane)


def hold_lane(db: Database, lane: int, until_ms: int, reason: str, now_ms: int) -> None:
    """Hold a lane until a time; with 0 close a circuit whose time is over."""
    if until_ms:
        changed = db.changed("lane_hold", lane, until_ms, now_ms, reason)
    else:
        changed = db.changed("lane_answered", lane, now_ms)
    if changed:
        recording.touch_lane(db, lane)


def unblock_lane(db: Database, lane: int) -> None:
    """Close a lane's circuit, and lift its queues' `unreachable` blocks."""
    db.run("lane_close", lane)
    for (queue,) in db.all("lane_queues_unreachable", lane):
        unblock_queue(db, queue)
    recording.touch_lane(db, lane)
