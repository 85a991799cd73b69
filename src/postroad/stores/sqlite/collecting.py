"""Queues that nobody used for long are deleted, on a daily walk over all of them, in slices."""

from postroad.model.record import Collected
from postroad.model.unused import ASK_AGAIN_MS, DELETE_MOST, WALK_EVERY_MS, WALK_SLICE
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.pacing import drop_ledger


def collect(db: Database, now_ms: int, unused_ms: int) -> Collected:
    """Note which of the next queues are unused, and delete those that have been for too long."""
    after = db.number("walk_due", now_ms)
    if after is None:
        return Collected(0, now_ms + ASK_AGAIN_MS)
    gone = last = 0
    rows = db.all("unused_queues", after, WALK_SLICE, now_ms)
    for queue, look in rows:
        if look is None:
            db.run("unused_forget", queue)
            continue
        db.run("unused_note", queue, now_ms, look)
        if db.one("unused_long", queue, now_ms - unused_ms):
            delete_queue(db, queue)
            gone += 1
            if gone == DELETE_MOST:
                last = queue
                break
    else:
        last = rows[-1][0] if len(rows) == WALK_SLICE else 0
    if gone:
        db.rungs.clear()
    next_at_ms = 0 if last else now_ms + WALK_EVERY_MS
    db.run("walk_note", last, next_at_ms)
    return Collected(gone, next_at_ms)


def delete_queue(db: Database, queue: int) -> None:
    """Delete a queue that holds nothing, with its rungs, limits and keys, and the lanes that served
    no other."""
    lanes = db.all("queue_lanes", queue)
    db.run("numbers_note", queue)
    ledger = db.number("pace_of_queue", queue)
    if ledger is not None:
        drop_ledger(db, ledger)
    for each in ("keys_delete", "unused_forget", "rungs_delete", "queue_lanes_delete"):
        db.run(each, queue)
    db.run("queue_delete", queue)
    for (lane,) in lanes:
        if db.number("lane_delete", lane) is not None:
            db.run("lane_levels_delete", lane)
