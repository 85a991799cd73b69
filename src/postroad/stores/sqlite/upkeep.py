"""Expiry by deadline and by spell, and retention."""

from typing import Final

from postroad.model.block import BlockKind
from postroad.model.decide import spell_expiry
from postroad.model.endpoint_life import HOURS_KEPT_MS
from postroad.model.entities import DAY_MS
from postroad.model.ids import first_after
from postroad.model.record import Swept
from postroad.model.rollup import KEPT_MS
from postroad.model.states import NEVER, DeadReason
from postroad.stores.sqlite.batches import retain as retain_batches
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.inbox import POLICY_DECODER
from postroad.stores.sqlite.recording import die, forget

SPELL_RECHECK_MS: Final = 600_000
"""How often a queue in an overlong spell is searched: each message has its own start."""


def sweep(db: Database, now_ms: int, limit: int) -> Swept:
    """Move expired messages to the dead set; answers when to run again."""
    expired = [number for (number,) in db.all("expired_messages", now_ms, limit)]
    for number in expired:
        die(db, number, DeadReason.expired, now_ms)
    done = len(expired)
    next_at_ms = db.number("next_expiry") or NEVER
    for queue, kind, since_ms, ttl_ms, lane in _spells(db, now_ms):
        if since_ms + ttl_ms > now_ms:
            next_at_ms = min(next_at_ms, since_ms + ttl_ms)
            continue
        edge_ms = now_ms - ttl_ms
        old = db.all("spell_messages", queue, first_after(edge_ms + 1), limit, lane, edge_ms)
        for (number,) in old:
            die(db, number, spell_expiry(kind), now_ms)
        done += len(old)
        wait_ms = 0 if len(old) >= limit else SPELL_RECHECK_MS
        next_at_ms = min(next_at_ms, now_ms + wait_ms)
    return Swept(done, next_at_ms)


def _spells(db: Database, now_ms: int) -> list[tuple[int, BlockKind, int, int, int]]:
    """Unbroken spells: (queue, kind, since, how long a message may outlive it, lane or all)."""
    found: list[tuple[int, BlockKind, int, int, int]] = []
    for queue, policy_json, kind, since_ms in db.all("spells"):
        policy = POLICY_DECODER.decode(policy_json)
        away = kind == BlockKind.unreachable
        ttl_ms = policy.unreachable_ttl_ms if away else policy.quota_ttl_ms
        found.append((queue, BlockKind(kind), since_ms, ttl_ms, 0))
    for queue, policy_json, since_ms, lane in db.all("lane_spells", now_ms):
        ttl_ms = POLICY_DECODER.decode(policy_json).unreachable_ttl_ms
        found.append((queue, BlockKind.unreachable, since_ms, ttl_ms, lane))
    return found


def retain(db: Database, now_ms: int, history_ms: int, dead_ms: int, limit: int) -> int:
    """Delete a slice of what is past its retention; answers how many rows."""
    edge = first_after(now_ms - history_ms)
    gone = db.all("history_retain", edge, now_ms - history_ms, limit)
    gone += db.all("dead_retain", now_ms - dead_ms, limit)
    forget(db, gone)
    # Counted as well, or an hour with more than a slice of them would never be caught up with.
    keys = db.changed("keys_retain", now_ms, limit)
    ticks = db.changed("ticks_retain", now_ms - history_ms, limit)
    tries = db.changed("tries_retain", now_ms - history_ms, limit)
    bodies = db.changed("bodies_retain", now_ms, limit)
    bodies += db.changed("outputs_retain", now_ms, limit)
    db.run("forget_idle", now_ms - DAY_MS)
    keys += db.changed("event_keys_retain", now_ms, limit)
    # Their keys hold for a day.
    edge_ms = now_ms - max(history_ms, DAY_MS)
    events = db.all("events_retain", first_after(edge_ms), limit)
    db.many("event_messages_delete", events)
    replays = db.changed("replays_retain", edge_ms, limit)
    hours = db.changed("endpoint_hours_retain", now_ms - HOURS_KEPT_MS, limit)
    batches = retain_batches(db, now_ms, now_ms - history_ms, limit)
    rollups = sum(
        db.changed("rollups_retain", step.seconds, now_ms - kept_ms, limit)
        for step, kept_ms in KEPT_MS.items()
    )
    done = (keys, ticks, tries, bodies, len(events), replays, hours, rollups, batches)
    return len(gone) + sum(done)
