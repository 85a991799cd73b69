"""Figures of the whole fleet: counts in buckets, and who delivers."""

from collections.abc import Sequence

import msgspec
from asyncpg import Record

from postroad.model.rollup import COLUMNS, Rollup, Worker, WorkerState, worker_state
from postroad.stores.postgres.base import PostgresBase
from postroad.stores.rollups import RollupReader


class PostgresRollups(PostgresBase, RollupReader):
    """Keeps figures."""

    async def add_rollups(self, rollups: Sequence[Rollup]) -> None:
        """Add counts to their buckets."""
        self._check_open()
        rows = [
            {
                "step": one.step.seconds,
                "at": one.at_ms,
                "tenant": one.tenant,
                "family": one.family,
                "queue": one.queue,
                **dict(zip(COLUMNS, one.counts, strict=True)),
            }
            for one in rollups
        ]
        text = msgspec.json.encode(rows).decode()
        _ = await self._side.rows("rollups", "rollup_add", (text,))  # it gives no rows

    async def workers(self) -> list[Worker]:
        """List the processes that ask for lanes, and those that ended without leaving."""
        self._check_open()
        rows = await self._side.rows("rollups", "workers")
        return [_worker(row) for row in rows]

    async def heard_from(self, owner: int, lanes: int) -> None:
        """Note that a worker on a broker is alive, and how many lanes it serves."""
        self._check_open()
        _ = await self._side.rows("beat", "heard_from", (owner, lanes))  # it gives no rows


def _worker(row: Record) -> Worker:
    state = worker_state(row["silent_ms"], row["lanes"], owns=row["owning"])
    state = WorkerState.lost if row["reaped"] else state
    who = (row["id"], row["host"], row["pid"], row["version"])
    return Worker(*who, state, row["lanes"], row["started_at"], row["heard_at"])
