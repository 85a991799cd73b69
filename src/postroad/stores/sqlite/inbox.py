"""How messages get in: queues made on first use, drafts accepted in one transaction."""

from collections.abc import Sequence
from typing import Final

import msgspec

from postroad.model.block import Block, BlockKind
from postroad.model.endpoint import FEED
from postroad.model.entities import Accepted, Draft, LaneKey, Policy, Queue, QueueSpec, digest_of
from postroad.model.errors import QueueGone
from postroad.model.hours import OpenHours
from postroad.model.ladder import LAST_POLLED_LEVEL
from postroad.model.recipients import PACKED_TO
from postroad.model.states import NEVER
from postroad.model.unused import GONE
from postroad.ports.bell import READERS
from postroad.stores.bell import Ring
from postroad.stores.sqlite.database import Database, Row
from postroad.stores.sqlite.noting import note_recipients

KEY_TTL_MS: Final = 24 * 3600 * 1000
POLICY_DECODER: Final = msgspec.json.Decoder(Policy)


def open_queue(db: Database, spec: QueueSpec) -> Queue:
    """The queue of this name, made with its lanes when it is new."""
    policy = msgspec.json.encode(spec.policy)
    number = db.number("queue_find", spec.tenant, spec.name)
    if number is not None:
        db.run("queue_policy", number, policy)
    else:
        number = db.number("queue_insert", spec.tenant, spec.name, spec.lane.transport, policy)
        for shard in range(spec.shards):
            db.run("queue_lane_insert", number, shard, ensure_lane(db, spec.lane, shard))
    row = db.one("queue_by_id", number)
    if row is None:  # pragma: no cover - it was just written in this transaction
        raise LookupError(spec.name)
    return read_queue(db, row)


def ensure_lane(db: Database, key: LaneKey, shard: int) -> int | None:
    """The lane of this key, made where it is new."""
    found = db.number("lane_find", key.tenant, key.transport, key.server, key.credential, shard)
    if found is not None:
        return found
    return db.number(
        "lane_insert", key.tenant, key.transport, key.server, key.credential, shard, key.pool
    )


def check_queue(db: Database, queue: int) -> None:
    """Raise QueueGone if the queue was deleted."""
    if db.one("queue_by_id", queue) is None:
        raise QueueGone(GONE)


def find_queue(db: Database, tenant: str, name: str) -> Queue | None:
    """The queue of that name."""
    row = queue_row(db, tenant, name)
    return read_queue(db, row) if row else None


def queue_row(db: Database, tenant: str, name: str) -> Row | None:
    """The row of the queue of that name."""
    number = db.number("queue_find", tenant, name)
    return db.one("queue_by_id", number) if number is not None else None


def read_queue(db: Database, row: Row) -> Queue:
    """A queue from its row."""
    number, tenant, name, policy, paused_at, kind, until, reason, streak, since, *rest = row
    resumed_at, limited = rest
    lanes = tuple(lane for (lane,) in db.all("queue_lanes", number))
    limits = limits_of(db, number, lanes[0]) if limited else []
    block = Block(BlockKind(kind), until, reason, streak, since) if kind else None
    return Queue(
        id=number,
        tenant=tenant,
        name=name,
        policy=POLICY_DECODER.decode(policy),
        lanes=lanes,
        block=block,
        paused=bool(paused_at),
        resumed_at_ms=resumed_at,
        ledgers=tuple(limit[0] for limit in limits if limit[5]),
        hours=tuple(OpenHours(*limit[7:9]) for limit in limits if limit[7]),
    )


def limits_of(db: Database, queue: int, lane: int) -> list[Row]:
    """The rows of all limits of a queue: those of its lane, then its own."""
    return db.all("paces_of_lane", lane) + db.all("pace_of_queue", queue)


def accept(db: Database, drafts: Sequence[Draft]) -> list[Accepted]:
    """Store drafts and wake their rungs; answers one result each."""
    answers: list[Accepted] = []
    rows: list[Row] = []
    wakes: dict[int, int] = {}
    named: list[Draft] = []
    for draft in drafts:
        first = _first_use(db, draft) if draft.key else None
        if first is not None:
            answers.append(first)
            continue
        rung = rung_of(db, draft.lane, draft.queue, 0, draft.priority, draft.order_group)
        place = draft.due_ms
        if draft.order_group:
            place = db.number("rung_next_place", rung) or 0
        rows.append(
            (
                draft.id,
                rung,
                place,
                draft.due_ms,
                draft.accepted_at_ms,
                draft.expires_at_ms,
                draft.order_key,
                draft.headers,
                draft.body,
            )
        )
        if draft.headers and PACKED_TO in draft.headers:  # 250 ns to look into no bytes
            named.append(draft)
        wakes[rung] = min(wakes.get(rung, NEVER), draft.due_ms)
        answers.append(Accepted(draft.id))
    db.many("message_insert", rows)
    if named:
        note_recipients(db, named)
    if rows and rows[0][0] <= db.listed_until:  # the clock was set back
        db.many("list_put_one", [(draft.queue, draft.id) for draft in drafts])
    for rung, due_ms in wakes.items():
        wake(db, rung, due_ms)
    return answers


def _first_use(db: Database, draft: Draft) -> Accepted | None:
    digest = digest_of(draft)
    row = db.one("key_find", draft.queue, draft.key, draft.accepted_at_ms)
    if row is not None:
        return Accepted(row[0], duplicate=row[1] == digest, conflict=row[1] != digest)
    expires_ms = draft.accepted_at_ms + (draft.key_ms or KEY_TTL_MS)
    db.run("key_insert", draft.queue, draft.key, draft.id, digest, expires_ms)
    return None


def rung_of(
    db: Database, lane: int, queue: int, level: int, priority: int, order_group: int
) -> int:
    """The number of a rung, made on first use. An order group has one rung for all levels."""
    key = (lane, queue, 0, 0, order_group) if order_group else (lane, queue, level, priority, 0)
    found = db.rungs.get(key)
    if found is None:
        if order_group:
            found = db.number("rung_find_order_group", lane, queue, order_group)
        else:
            found = db.number("rung_find_plain", lane, queue, level, priority)
        if found is None:
            values = (lane, queue, level, 0 if order_group else priority, order_group)
            found = db.number("rung_insert", *values)
            if found is None:
                raise QueueGone(GONE)
        db.rungs[key] = found
    return found


def wake(db: Database, rung: int, due_ms: int) -> None:
    """Lower a rung's ready time, then wake the lane's owner, or the pollers."""
    db.run("rung_wake", rung, due_ms)
    row = db.one("rung_state", rung)
    if row is None:  # pragma: no cover - it was found or made in this transaction
        return
    level, ready_at, blocked_until, lane, owner, pool, tenant, lane_until = row
    if pool == FEED:
        db.rings.append(Ring(READERS, lane, rung, level, due_ms))
        return
    if owner is not None:
        if blocked_until < NEVER:
            db.rings.append(Ring(owner, lane, rung, level, max(due_ms, blocked_until)))
        return
    ready_ms = max(ready_at, lane_until)
    if ready_ms < NEVER:
        level = min(level, LAST_POLLED_LEVEL)
        db.run("lane_level_wake", lane, level, pool, tenant, ready_ms)
        db.rings.append(Ring(None, lane, rung, level, ready_ms))
