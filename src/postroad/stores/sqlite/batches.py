"""Batches: members are counted by what ends them, and a batch ends with its last member, in the
same transaction."""

from collections.abc import Sequence

from postroad.model.batch import (
    FILLING_MS,
    BatchPlan,
    BatchState,
    FollowRole,
    HeldDraft,
    follow,
)
from postroad.model.entities import Draft
from postroad.ports.bell import WAITERS
from postroad.stores.bell import Ring
from postroad.stores.sqlite.database import Database, Row
from postroad.stores.sqlite.inbox import accept, check_queue

DELIVERED, DEAD, CANCELLED = range(3)


def put(db: Database, plan: BatchPlan, now_ms: int) -> None:
    """Store batches, their members, what follows them, and the messages that are sent now."""
    for queue in plan.queues:
        check_queue(db, queue)
    db.many("batch_insert", [_batch_row(plan, place) for place in range(len(plan.rows))])
    db.many("member_insert", plan.members)
    db.many("held_insert", [_held_row(held) for held in plan.held])
    _ = accept(db, plan.drafts)  # members have no keys
    for row in plan.rows:
        if not row.total and row.state is BatchState.open:
            close(db, row.id, now_ms)


def _batch_row(plan: BatchPlan, place: int) -> Row:
    row = plan.rows[place]
    about = (row.id, row.tenant, row.parent, row.after, row.role, row.state.value, row.total)
    return (*about, row.then, row.on_failure, row.stops, row.made_at_ms)


def _held_row(held: HeldDraft) -> Row:
    draft = held.draft
    return (
        draft.id,
        held.batch,
        held.role.value,
        draft.queue,
        draft.lane,
        draft.order_group,
        draft.priority,
        draft.due_ms,
        held.delay_ms,
        draft.expires_at_ms,
        draft.order_key,
        draft.headers,
        draft.body,
    )


def end_members(db: Database, numbers: Sequence[int], how: int, now_ms: int) -> None:
    """Count messages or batches that have ended, if they are members, and end their batches."""
    counts: dict[int, int] = {}
    for number in numbers:
        batch = db.number("member_end", number)
        if batch is not None:
            counts[batch] = counts.get(batch, 0) + 1
    for batch, count in counts.items():
        tally = [0, 0, 0]
        tally[how] = count
        db.run("batch_count_add", batch, *tally)
        close(db, batch, now_ms)


def close(db: Database, batch: int, now_ms: int) -> None:
    """End a batch if all its members have ended: store what follows, and hand its place in the
    batch around it to that, or count it there."""
    row = db.one("batch_whole", batch)
    if row is None:
        return
    parent, then, on_failure, stops, delivered, dead, cancelled = row
    following, role = follow((then, on_failure, bool(stops)), dead, cancelled)
    if not db.number("follower_find", following):  # none was given, or it was erased
        following, role = 0, None
    counts = (delivered, dead, cancelled)
    db.run("batch_end", batch, now_ms, *counts, role.value if role else "")
    db.run("batch_counts_delete", batch)
    db.rings.append(Ring(WAITERS, batch, 0, 0, 0))
    if following and parent:
        db.run("member_move", batch, following)
    empty = _release(db, batch, role, now_ms) if role else []
    _skip_after(db, batch, now_ms)
    for each in empty:
        close(db, each, now_ms)
    if parent and not following:
        end_members(db, [batch], DEAD if dead else CANCELLED if cancelled else DELIVERED, now_ms)


def _release(db: Database, batch: int, role: FollowRole, now_ms: int) -> list[int]:
    """Store what follows; answers the batches among it that are empty."""
    drafts = []
    for number, queue, lane, group, priority, due, delay, expires, key, headers, body in db.all(
        "held_release", batch, role.value
    ):
        due_ms = max(due, now_ms + delay)
        times = (now_ms, due_ms, expires)
        drafts.append(
            Draft(number, queue, lane, group, priority, *times, body, headers, order_key=key)
        )
    _ = accept(db, drafts)  # what follows has no key
    db.run("held_taken", batch, role.value)
    return [number for number, total in db.all("batches_open", batch, role.value) if not total]


def _skip_after(db: Database, batch: int, now_ms: int) -> None:
    """Forget what was to follow in the other case."""
    db.many("member_end", db.all("held_delete", batch))
    for (later,) in db.all("batches_after", batch):
        skip(db, later, now_ms)


def skip(db: Database, batch: int, now_ms: int) -> None:
    """Say that a batch is never sent, nor what follows it."""
    db.run("batch_skip", batch, now_ms)
    db.rings.append(Ring(WAITERS, batch, 0, 0, 0))
    db.many("member_end", [(batch,), *db.all("held_delete", batch)])
    for (later,) in db.all("batches_after", batch):
        skip(db, later, now_ms)


def retain(db: Database, now_ms: int, edge_ms: int, limit: int) -> int:
    """Delete ended batches that are past their retention, and give up those half stored."""
    for (batch,) in db.all("batches_filling", now_ms - FILLING_MS):
        skip(db, batch, now_ms)
    gone = db.all("batches_retain", edge_ms, limit)
    db.many("batch_counts_delete", gone)
    return len(gone)
