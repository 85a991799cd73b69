"""Replays: slices that send again and move on in one transaction."""

from collections.abc import Callable, Sequence

from postroad.model.dead import DeadFilter
from postroad.model.replay import (
    PairState,
    Replayed,
    ReplayJob,
    ReplayPair,
    ReplaySlice,
    sort_pairs,
)
from postroad.model.states import NEVER
from postroad.stores.replays import LABEL, ReplayTables, insert_values, lock_values, note_values
from postroad.stores.sqlite import deadset, inbox
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database

LOST = Replayed(lost=True)


class SqliteReplays(ReplayTables, SqliteBase):
    """Stores replays and does their slices."""

    def hear_replays(self, call: Callable[[], None]) -> None:
        """Call it when replays may have work."""
        self.hear_own("replays", call)

    async def ring_replays(self) -> None:
        """Wake the worker of this process: no other has this file."""
        await self.ring_own("replays")

    async def replay_add(self, job: ReplayJob, most: int) -> bool:
        """Store a new replay."""
        added = await self.changes(LABEL, "replay_insert", *insert_values(job, most))
        await self.ring_replays()
        return added

    async def pair_states(self, pairs: Sequence[ReplayPair]) -> list[PairState]:
        """What there is of each event for its endpoint."""
        return await self.read(LABEL, lambda db: [_state(db, pair) for pair in pairs])

    async def replay_failed(self, step: ReplaySlice, count: int) -> Replayed:
        """Revive dead messages."""
        return await self.write(LABEL, lambda db: _failed(db, step, count), durable=True)

    async def replay_events(self, step: ReplaySlice) -> Replayed:
        """Send events again."""
        return await self.write(LABEL, lambda db: _events(db, step), durable=True)


def _state(db: Database, pair: ReplayPair) -> PairState:
    row = db.one("event_pair", pair.event, pair.first, pair.last, pair.target.queue)
    waiting, dead, had = row or (0, 0, 0)
    return PairState(bool(waiting), dead, bool(had))


def _failed(db: Database, step: ReplaySlice, count: int) -> Replayed:
    if db.one("replay_lock", *lock_values(step)) is None:
        return LOST
    job = step.job
    gone = deadset.replay(db, job.dead, job.spec.mode, count, step.now_ms)
    return _noted(db, step, Replayed(replayed=gone, ended=gone < count))


def _events(db: Database, step: ReplaySlice) -> Replayed:
    job = step.job
    if db.one("replay_lock", *lock_values(step)) is None:
        return LOST
    if step.endpoints_version != (db.number("set_version", job.tenant) or 0):
        return Replayed(moved=True)
    found = sort_pairs(step, [_state(db, pair) for pair in step.pairs])
    if found.dead:
        which = DeadFilter(job.tenant, ids=found.dead)
        # They are there, in this very transaction.
        _ = deadset.replay(db, which, job.spec.mode, NEVER, step.now_ms)
    _ = inbox.accept(db, found.drafts)  # they have no keys: all are stored
    made = [(pair.event, pair.number, pair.target.queue) for pair in found.made]
    db.many("event_message_insert", made)
    done = Replayed(replayed=found.count, waiting=found.waiting, ended=step.ended)
    return _noted(db, step, done)


def _noted(db: Database, step: ReplaySlice, done: Replayed) -> Replayed:
    db.run("replay_note", *note_values(step, done))
    return done
