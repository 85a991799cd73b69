"""Figures of the road: counts in buckets, and the process that delivers."""

import os
import socket
from collections.abc import Collection, Sequence

from postroad.model.rollup import Rollup, Worker, WorkerState
from postroad.stores.rollups import RollupReader
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database, Row
from postroad.version import VERSION


class SqliteRollups(SqliteBase, RollupReader):
    """Keeps figures."""

    async def join(self) -> int:
        """Give this process a new owner number."""
        values = (self.clock.now_ms(), socket.gethostname(), os.getpid(), VERSION)
        return await self.write("join", lambda db: db.number("join", *values) or 0)

    async def add_rollups(self, rollups: Sequence[Rollup]) -> None:
        """Add counts to their buckets."""
        rows = [
            (one.step.seconds, one.at_ms, one.tenant, one.family, one.queue, *one.counts)
            for one in rollups
        ]
        await self.write("rollups", lambda db: db.many("rollup_add", rows))

    async def workers(self) -> list[Worker]:
        """List the engines of this process, and those that were killed while they owned lanes."""
        return await self.workers_heard(self.bell.owners)

    async def workers_heard(self, alive: Collection[int]) -> list[Worker]:
        """List workers; of all processes on this file only the owners `alive` can be alive."""
        now_ms = self.clock.now_ms()
        return await self.read("rollups", lambda db: _workers(db, alive, now_ms))


def _workers(db: Database, alive: Collection[int], now_ms: int) -> list[Worker]:
    rows = {row[0]: row for row in db.all("workers")}
    # One that was idle for a day has no row until it takes lanes again.
    own = (socket.gethostname(), os.getpid(), VERSION, now_ms, now_ms, 0, 0)
    found = [_alive(rows.get(owner, (owner, *own)), now_ms) for owner in sorted(alive)]
    return found + [_lost(row) for row in rows.values() if row[0] not in alive and row[6]]


def _alive(row: Row, now_ms: int) -> Worker:
    owner, host, pid, version, started_ms, _, _, lanes = row
    state = WorkerState.working if lanes else WorkerState.idle
    return Worker(owner, host, pid, version, state, lanes, started_ms, now_ms)


def _lost(row: Row) -> Worker:
    owner, host, pid, version, started_ms, heard_ms, _, _ = row
    return Worker(owner, host, pid, version, WorkerState.lost, 0, started_ms, heard_ms)
