"""Ownership of lanes, and what their owners read."""

from collections.abc import Sequence
from typing import Final

from postroad.model.circuit import Circuit
from postroad.model.entities import Lane, LaneKey, Message, Rung
from postroad.model.record import Look, LostWorker, Reading, Reaped, Release, View, Want
from postroad.model.states import NEVER
from postroad.stores.bell import Ring
from postroad.stores.sqlite.database import Database, Row
from postroad.stores.sqlite.inbox import read_queue

READ_BYTES_MAX: Final = 4 << 20
"""Maximum bytes of bodies in one reading: a body may have a megabyte."""


def read_lane(row: Row) -> Lane:
    """A lane from its row."""
    number, transport, server, credential, shard, tenant, epoch, *circuit, crashes, paused = row
    key = LaneKey(transport, server, credential, shard, tenant)
    return Lane(number, key, epoch, Circuit(*circuit), crashes, bool(paused))


def look(db: Database, ask: Look, now_ms: int) -> View:
    """The rungs of a lane that became ready, and the named ones, with their queues."""
    rows = db.all("look_due", ask.lane, ask.after_ms, now_ms)
    rows += [row for number in ask.rungs for row in db.all("rung_by_id", number)]
    rungs = [Rung(*row) for row in rows]
    numbers = dict.fromkeys((*(rung.queue for rung in rungs), *ask.queues))
    queues = [read_queue(db, row) for n in numbers if (row := db.one("queue_by_id", n))]
    next_at_ms = db.number("look_next", ask.lane, now_ms) or NEVER
    *circuit, paused_at = db.one("lane_circuit_of", ask.lane) or (0, 0, 0, 0, "", 0)
    return View(ask.lane, rungs, queues, next_at_ms, Circuit(*circuit), bool(paused_at))


def fetch(db: Database, want: Want, now_ms: int) -> Reading:
    """The due messages of a rung after a cursor. A head that is not due ends the reading."""
    row = db.one("rung_by_id", want.rung)
    if row is None:
        return Reading(want.rung, [], NEVER, full=False)
    rung = Rung(*row)
    messages: list[Message] = []
    body_bytes = 0
    for values in db.rows("fetch_due", want.rung, want.after_place, want.after_id, want.limit):
        number, level, attempts, marks, place, due, accepted_at, expires_at, body, headers = values
        if due > now_ms:
            return Reading(want.rung, messages, due, full=False)
        body_bytes += len(body)
        messages.append(
            Message(
                number,
                rung.id,
                rung.queue,
                rung.lane,
                level,
                attempts,
                marks,
                place,
                due,
                accepted_at,
                expires_at,
                body,
                headers,
            )
        )
        if body_bytes > READ_BYTES_MAX:
            return Reading(want.rung, messages, NEVER, full=True)
    return Reading(want.rung, messages, NEVER, full=len(messages) >= want.limit)


def mark(db: Database, lane: int, epoch: int, owner: int, ids: Sequence[int]) -> bool:
    """Count starts before they are made, if the lane is still the owner's."""
    if db.one("lane_fence", lane) != (owner, epoch):
        return False
    db.many("mark", [(number,) for number in ids])
    return True


def release(db: Database, owner: int, lanes: Sequence[Release], now_ms: int) -> dict[int, int]:
    """Give lanes back; answers when each level is ready next."""
    ready: dict[int, int] = {}
    for lane in lanes:
        if db.one("lane_fence", lane.lane) != (owner, lane.epoch):
            continue
        db.run("lane_rest", lane.lane, now_ms)
        db.run("lane_free", lane.lane)
        for level, at_ms in open_lane(db, lane.lane):
            ready[level] = min(ready.get(level, NEVER), at_ms)
    return ready


def open_lane(db: Database, lane: int) -> list[tuple[int, int]]:
    """Let a free lane be claimed, and wake the pollers; answers when, by level."""
    db.run("claim_hide", lane)
    levels = [(level, at_ms) for level, at_ms in db.all("lane_levels", lane) if at_ms < NEVER]
    db.rings += [Ring(None, lane, 0, level, at_ms) for level, at_ms in levels]
    return levels


def beat(db: Database, owner: int, now_ms: int) -> bool:
    """Renew the heartbeat; answers False, once, to an owner whose lanes were taken away."""
    if db.one("beat", owner, now_ms) is not None:
        return True
    db.run("beat_again", owner, now_ms)
    return False


def held(db: Database, owner: int) -> set[tuple[int, int]]:
    """The lanes that are the owner's, with their epochs."""
    return set(db.all("owned_lanes", owner))


def reap(db: Database, heard_before_ms: int) -> Reaped:
    """Free the lanes of processes that were not heard from; each has lost a lease."""
    lost = []
    for owner, host, pid in db.all("dead_owners", heard_before_ms):
        lanes = [lane for lane, _ in db.all("owned_lanes", owner)]
        for lane in lanes:
            db.run("lose_lane", lane)
            _ = open_lane(db, lane)  # the rings are in `db`
        lost.append(LostWorker(host, pid, len(lanes)))
        db.run("reap", owner)
    return Reaped(tuple(lost), db.one("any_owned") is not None)


def disown(db: Database, owner: int, keep: Sequence[int] = ()) -> None:
    """Free the owner's lanes but for these; no lease counts as lost."""
    for lane, _ in db.all("owned_lanes", owner):
        if lane not in keep:
            db.run("lane_free", lane)
            _ = open_lane(db, lane)  # the rings are in `db`


def leave(db: Database, owner: int) -> None:
    """Free a process's lanes and delete it."""
    disown(db, owner)
    db.run("leave", owner)
