"""What is known about one message, queue or lane; read in one transaction."""

from typing import Final

import apsw

from postroad.model.circuit import Circuit
from postroad.model.entities import Queue
from postroad.model.facts import (
    Ended,
    LaneFacts,
    LaneState,
    Live,
    MessageFacts,
    Owner,
    QueueFacts,
    StoreFacts,
    Tally,
)
from postroad.model.outcome import Kind
from postroad.model.states import NEVER, DeadReason, State
from postroad.model.tries import Try
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.deadset import tries
from postroad.stores.sqlite.inbox import queue_row, read_queue
from postroad.stores.sqlite.pacing import pace_facts

OTHERS_MAX: Final = 1_000


class SqliteInsight(SqliteBase):
    """Answers questions about one message, queue or lane."""

    async def counts(self) -> dict[str, int]:
        """Messages by state."""
        now_ms = self.clock.now_ms()
        return await self.read("insight", lambda db: dict(db.all("counts", now_ms)))

    async def store_facts(self) -> StoreFacts:
        """The version of SQLite, and the size of the file."""

        def read(db: Database) -> StoreFacts:
            size = db.pragma("page_count") * db.pragma("page_size")
            product = f"SQLite {apsw.sqlite_lib_version()}"
            return StoreFacts(product, db.pragma("user_version"), size)

        return await self.read("insight", read)

    async def message_facts(self, tenant: str | None, number: int) -> MessageFacts | None:
        """All that is known about a tenant's message."""
        now_ms = self.clock.now_ms()
        return await self.read("insight", lambda db: message_facts(db, tenant, number, now_ms))

    async def queue_facts(self, tenant: str, name: str, most: int = NEVER) -> QueueFacts | None:
        """A queue and what waits in it."""
        now_ms = self.clock.now_ms()
        return await self.read("insight", lambda db: queue_facts(db, tenant, name, now_ms, most))

    async def lane_backlog(self, lane: int, most: int) -> int:
        """Count a lane's unfinished messages, up to a number."""
        return await self.read("insight", lambda db: db.number("lane_backlog", lane, most) or 0)

    async def lane_facts(self, number: int, most: int = NEVER) -> LaneFacts | None:
        """A lane and what waits in it."""
        now_ms = self.clock.now_ms()
        return await self.read("insight", lambda db: lane_facts(db, number, now_ms, most))


def message_facts(
    db: Database, tenant: str | None, number: int, now_ms: int
) -> MessageFacts | None:
    """A message, wherever it is; None also when it is another tenant's."""
    facts = _live(db, number, now_ms) or _dead(db, number) or _finished(db, number)
    return facts if facts and tenant in (None, facts.queue.tenant) else None


def _live(db: Database, number: int, now_ms: int) -> MessageFacts | None:
    row = db.one("message_facts", number)
    if row is None:
        return None
    queue_id, lane_id, accepted_at, level, attempts, due, expires_at, uncertain, held, *spot = row
    starts, order_group, rung, place = spot
    before = db.number("order_group_before", rung, place, number) if order_group else None
    values = (lane_id, queue_id, max(due, now_ms), number, rung, OTHERS_MAX)
    others = db.number("others_due", *values) or 0
    live = Live(
        level, attempts, due, expires_at, bool(uncertain), held, before or 0, others, starts
    )
    queue, paused_at = _queue(db, queue_id)
    lane = _lane(db, lane_id)
    log = tries(db, number)
    paces = pace_facts(db, queue_id, lane_id, now_ms)
    return MessageFacts(
        number, accepted_at, queue, paused_at, log, live=live, lane=lane, paces=paces
    )


def _dead(db: Database, number: int) -> MessageFacts | None:
    row = db.one("dead_facts", number)
    if row is None:
        return None
    queue_id, lane_id, reason, accepted_at, died_at, level, attempts = row
    ended = Ended(State.dead, died_at, level, attempts, DeadReason(reason))
    queue, paused_at = _queue(db, queue_id)
    lane = _lane(db, lane_id)
    log = tries(db, number)
    return MessageFacts(number, accepted_at, queue, paused_at, log, ended=ended, lane=lane)


def _finished(db: Database, number: int) -> MessageFacts | None:
    row = db.one("history_facts", number)
    if row is None:
        return None
    queue_id, state, late, accepted_at, finished_at, level, attempts, took_ms = row
    if db.one("queue_by_id", queue_id) is None:  # deleted: retention will delete this too
        return None
    ended = Ended(State(state), finished_at, level, attempts, late=bool(late))
    log = tries(db, number)
    if ended.state is State.delivered:  # the try that delivered is the history row itself
        started_at = finished_at - took_ms
        status = db.number("delivered_status", number) or 0
        log += (Try(attempts, started_at, level, Kind.delivered, status, took_ms, ""),)
    queue, paused_at = _queue(db, queue_id)
    return MessageFacts(number, accepted_at, queue, paused_at, log, ended=ended)


def queue_facts(db: Database, tenant: str, name: str, now_ms: int, most: int) -> QueueFacts | None:
    """A queue, its lanes, and what waits in them."""
    row = queue_row(db, tenant, name)
    if row is None:
        return None
    queue = read_queue(db, row)
    lanes = tuple(lane for number in queue.lanes if (lane := _lane(db, number)))
    tallies = _tallies(db, queue.id, 0, now_ms, most)
    paces = pace_facts(db, queue.id, queue.lanes[0], now_ms)
    dead = db.number("dead_count", queue.id, most) or 0
    return QueueFacts(queue, row[4], lanes, tallies, dead, paces)


def lane_facts(db: Database, number: int, now_ms: int, most: int) -> LaneFacts | None:
    """A lane and what waits in it."""
    lane = _lane(db, number)
    if lane is None:
        return None
    queues = db.number("lane_queue_count", number, most) or 0
    tallies = _tallies(db, 0, number, now_ms, most)
    return LaneFacts(lane, queues, tallies, pace_facts(db, 0, number, now_ms))


def _tallies(db: Database, queue: int, lane: int, now_ms: int, most: int) -> tuple[Tally, ...]:
    rows = db.all("tallies", queue, lane, now_ms, most)
    return tuple(Tally(lane, State(state), *rest) for lane, state, *rest in rows)


def _queue(db: Database, number: int) -> tuple[Queue, int]:
    row = db.one("queue_by_id", number)
    if row is None:  # pragma: no cover - none is deleted that holds messages
        raise LookupError(number)
    return read_queue(db, row), row[4]


def _lane(db: Database, number: int) -> LaneState | None:
    row = db.one("lane_state", number)
    if row is None:
        return None
    number, tenant, transport, server, shard, *circuit, paused_at, crashes = row[:12]
    process, host, pid, beat_at = row[12:]
    owner = Owner(process, host, pid, beat_at) if process is not None else None
    key = (tenant, transport, server, shard)
    return LaneState(number, *key, Circuit(*circuit), paused_at, crashes, owner)
