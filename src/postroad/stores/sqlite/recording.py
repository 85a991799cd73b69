"""Records results in one transaction, fenced by the lanes' epochs."""

from collections.abc import Sequence

from msgspec.structs import astuple

from postroad.model.batch import MARK
from postroad.model.block import Block
from postroad.model.decide import Move
from postroad.model.record import (
    LaneChange,
    Record,
    Recorded,
    Result,
    kept_bodies,
    kept_results,
)
from postroad.model.states import State
from postroad.ports.bell import WAITERS
from postroad.stores.bell import Ring
from postroad.stores.sqlite.batches import CANCELLED, DEAD, DELIVERED, end_members
from postroad.stores.sqlite.database import Database, Row
from postroad.stores.sqlite.inbox import rung_of, wake
from postroad.stores.sqlite.leases import open_lane
from postroad.stores.sqlite.noting import forget_recipients, note_tries

UNCERTAIN_LEVEL = -1


def record(db: Database, batch: Record, now_ms: int) -> Recorded:
    """Apply results. A failure needs the current epoch; a success counts whenever it comes."""
    epochs = _epochs(db, batch)
    current = [r for r in batch.results if epochs.get(r.message.lane) == r.epoch]
    late = [r for r in batch.results if epochs.get(r.message.lane) != r.epoch]
    if kept := [r for r in batch.results if r.keep]:
        db.many("body_keep", kept_bodies(kept, now_ms))
        db.many("output_put", [astuple(one) for one in kept_results(kept, now_ms)])
    _deliver(db, [r for r in current if r.move is Move.deliver], now_ms)
    _fail(db, [r for r in current if r.move is not Move.deliver], now_ms)
    for result in late:
        if result.move is Move.deliver:
            _deliver_late(db, result, now_ms)
    for change in batch.queues:
        if epochs.get(change.lane) == change.epoch:
            _change_queue(db, change.queue, change.block, change.lane)
    for lane_change in batch.lanes:
        if epochs.get(lane_change.lane) == lane_change.epoch:
            _change_lane(db, lane_change)
    note_tries(db, batch.results)
    lost = {r.message.lane for r in late}
    lost |= {lane for lane, epoch in _changed(batch) if epochs.get(lane) != epoch}
    return Recorded(frozenset(lost))


def _epochs(db: Database, batch: Record) -> dict[int, int]:
    """The epochs of the lanes that are still the owner's."""
    lanes = {r.message.lane for r in batch.results}
    lanes |= {lane for lane, _ in _changed(batch)}
    epochs: dict[int, int] = {}
    for lane in lanes:
        owner, epoch = db.one("lane_fence", lane) or (None, 0)
        if owner == batch.owner:
            epochs[lane] = epoch
    return epochs


def _changed(batch: Record) -> list[tuple[int, int]]:
    queues = [(change.lane, change.epoch) for change in batch.queues]
    return queues + [(change.lane, change.epoch) for change in batch.lanes]


def _deliver(db: Database, results: Sequence[Result], now_ms: int) -> None:
    if not results:
        return
    gone = db.many_changed("message_delete", [(r.message.id,) for r in results])
    if gone == len(results):
        db.many("history_insert", [_history(r, now_ms, r.message.attempts) for r in results])
        if members := [
            r.message.id for r in results if r.message.headers and MARK in r.message.headers
        ]:
            end_members(db, members, DELIVERED, now_ms)
    else:  # some have expired, were cancelled, or were recorded late by an earlier owner
        for result in results:
            _deliver_late(db, result, now_ms)
    for message in [r.message for r in results if r.order_group and r.message.level]:
        settle_order_group(db, message.rung, message.place)


def _history(result: Result, now_ms: int, attempts: int, *, late: bool = False) -> Row:
    message = result.message
    return (
        message.id,
        message.queue,
        State.delivered,
        late,
        message.accepted_at_ms,
        now_ms,
        message.level,
        attempts + 1,
        result.took_ms,
    )


def _deliver_late(db: Database, result: Result, now_ms: int) -> None:
    """Record a delivery whatever happened to the message since; a dead one is marked late."""
    number = result.message.id
    known = db.number("attempts_made", number)  # another owner may have tried it meanwhile
    attempts = result.message.attempts if known is None else known
    finish(db, number)
    was_dead = db.changed("dead_delete", number) > 0
    db.run("history_insert", *_history(result, now_ms, attempts, late=was_dead))
    end_members(db, [number], DELIVERED, now_ms)


def _fail(db: Database, results: Sequence[Result], now_ms: int) -> None:
    if not results:
        return
    db.many("attempt_insert", [_attempt(r) for r in results if _began(r)])
    for result in results:
        _move(db, result, now_ms)


def _began(result: Result) -> bool:
    """A message may be cancelled before its try begins."""
    return result.move is not Move.cancel or result.started_ms > 0


def _attempt(result: Result) -> Row:
    message = result.message
    return (
        message.id,
        message.attempts + 1,
        result.started_ms,
        message.level,
        result.kind,
        result.status,
        result.took_ms,
        result.error,
    )


def _move(db: Database, result: Result, now_ms: int) -> None:
    message, tries, move = result.message, result.message.attempts, result.move
    if db.one("message_rung", message.id) != (message.rung, message.place):
        # It died, and perhaps was replayed, during the try: the result counts only as a try.
        move = Move.stay
    match move:
        case Move.die:
            die(db, message.id, result.reason or "exhausted", now_ms, result)
        case Move.cancel:
            cancel(db, message.id, now_ms, tried=int(_began(result)))
        case Move.climb | Move.wait if result.order_group:
            row = (message.id, result.due_ms, result.level, tries)
            if db.changed("message_retry_in_order_group", *row):
                db.run("rung_set_level", message.rung, result.level, result.due_ms)
        case Move.climb | Move.wait:
            rung = rung_of(db, message.lane, message.queue, result.level, result.priority, 0)
            db.run("message_move", message.id, rung, result.due_ms, result.level, tries)
            wake(db, rung, result.due_ms)
        case Move.hold:
            # A head that has expired meanwhile holds nobody.
            if db.changed("message_stay", message.id, tries, None):
                db.run("rung_hold", message.rung, f"exhausted: {result.error}")
        case Move.doubt:
            args = (message.lane, message.queue, UNCERTAIN_LEVEL, result.priority, 0)
            db.run("message_move", message.id, rung_of(db, *args), now_ms, message.level, tries)
            settle_order_group(db, message.rung, message.place)
        case _:
            behind = result.due_ms if move is Move.behind else None
            db.run("message_stay", message.id, tries, behind)


def die(db: Database, number: int, reason: str, now_ms: int, result: Result | None = None) -> None:
    """Move a message to the dead set; `result` is the try that decided it, if any."""
    error = result.error if result else ""
    status = result.status if result else 0
    db.run("dead_insert", number, reason, now_ms, 1 if result else 0, error, status)
    finish(db, number)
    db.rings.append(Ring(WAITERS, number, 0, 0, 0))
    end_members(db, [number], DEAD, now_ms)


def cancel(db: Database, number: int, now_ms: int, *, tried: int = 0) -> None:
    """Cancel a message; `tried` counts the try that it was cancelled in."""
    db.run("history_cancel", number, now_ms, tried)
    finish(db, number)
    end_members(db, [number], CANCELLED, now_ms)


def cancel_all(db: Database, found: Sequence[tuple[int, int, int]], now_ms: int) -> None:
    """Cancel messages (id, rung, place) that no owner is trying, in order of place."""
    db.many("history_cancel", [(number, now_ms, 0) for number, *_ in found])
    db.many("message_delete", [(number,) for number, *_ in found])
    heads: dict[int, int] = {}
    for _, rung, place in found:
        heads[rung] = min(place, heads.get(rung, place))
    for rung, place in heads.items():
        settle_order_group(db, rung, place)
    db.rings += [Ring(WAITERS, number, 0, 0, 0) for number, *_ in found]
    end_members(db, [number for number, *_ in found], CANCELLED, now_ms)


def finish(db: Database, number: int) -> None:
    """Delete a finished message; if it was the head of an order group, the order group goes on."""
    row = db.one("message_rung", number)
    if row is not None:
        db.run("message_delete", number)
        settle_order_group(db, *row)


def forget(db: Database, gone: Sequence[Row]) -> None:
    """Delete what else is stored of finished messages (id, queue) that were deleted."""
    db.many("attempt_delete", [(number,) for number, _ in gone])
    forget_recipients(db, gone)
    if db.listed_until:
        db.many("list_forget", gone)


def settle_order_group(db: Database, rung: int, place: int) -> None:
    """Let an order group go on with its next head, and wake its lane."""
    lane = db.number("order_group_settle", rung, place)
    if lane is not None:
        touch_lane(db, lane)


def _change_queue(db: Database, queue: int, block: Block | None, lane: int) -> None:
    set_block(db, queue, block)
    # Its other lanes, if it has any, may have other owners.
    for (other,) in db.all("queue_lanes", queue):
        if other != lane:
            touch_lane(db, other)


def set_block(db: Database, queue: int, block: Block | None) -> None:
    """Set or lift a queue's block, on its row and its rungs, never on messages."""
    if block is None:
        db.run("queue_block", queue, "", 0, "", 0, 0)
    else:
        db.run(
            "queue_block",
            queue,
            block.kind,
            block.until_ms,
            block.reason,
            block.streak,
            block.since_ms,
        )
    db.run("queue_gate", queue)


def touch_lane(db: Database, lane: int) -> None:
    """Wake a lane whose rungs have changed: its owner reads again, or it can be claimed."""
    owner, _ = db.one("lane_fence", lane) or (None, 0)
    if owner is not None:
        db.rings.append(Ring(owner, lane, 0, 0, 0))
        return
    _ = open_lane(db, lane)  # the rings are in `db`


def _change_lane(db: Database, change: LaneChange) -> None:
    circuit = change.circuit
    db.run(
        "lane_circuit",
        change.lane,
        circuit.strikes,
        circuit.opened,
        circuit.until_ms,
        circuit.since_ms,
        circuit.reason,
        change.crashes,
        change.early_ms,
    )
    if not circuit.is_open:
        for (queue,) in db.all("lane_queues_unreachable", change.lane):
            _change_queue(db, queue, None, change.lane)
