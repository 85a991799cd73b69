"""What a claim costs with many blocked messages beside it. The full-size proof calls this too."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from postroad.model.entities import Queue
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from tests.contract.bench import Bench
from tests.contract.rigs import SqliteRig

BATCH: Final = 1_000
BLOCKED_QUEUES: Final = 10
"""Half of them share the healthy queue's lane, half have lanes of their own."""
HEALTHY: Final = 20


class Steps:
    """Instructions that SQLite's machine has run. apsw takes our statements, which begin with a
    comment, for those of triggers, and does not reset their counters: the last word counts."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, str], int] = {}

    @property
    def total(self) -> int:
        return sum(self._last.values())

    def add(self, event: dict[str, Any]) -> None:
        key = (id(event["connection"]), event["sql"])
        self._last[key] = event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]


@contextmanager
def counted(store: SqliteStore) -> Iterator[Steps]:
    """Counts what all connections of a freshly opened store do."""
    steps = Steps()
    for db in store._databases:
        db.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, steps.add)
    try:
        yield steps
    finally:
        for db in store._databases:
            db.connection.trace_v2(0, None)


def vm_steps_of_claim(blocked: int) -> int:
    """The steps of claiming a lane and reading what is due, beside so many blocked messages."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder), blocked))


async def _measure(folder: Path, blocked: int) -> int:
    rig = SqliteRig(folder, InlineDrive)
    async with Bench(rig) as bench:
        healthy = await bench.queue("healthy", server="host")
        await _fill(bench, healthy, HEALTHY)
        for number in range(BLOCKED_QUEUES):
            server = "host" if number % 2 else f"host {number}"
            queue = await bench.queue(f"blocked {number}", server=server)
            await _fill(bench, queue, blocked // BLOCKED_QUEUES)
            for lane in (await bench.claim()).lanes:
                if lane.id == queue.lanes[0]:
                    await bench.block(queue, lane, 3_600)
                await bench.release(lane)
        held = (await bench.store.counts())["held"]
        assert held == blocked
        await bench.reopen()
        with counted(rig.store) as steps:
            (lane,) = (await bench.claim()).lanes
            messages = await bench.due(lane.id)
        assert {m.queue for m in messages} == {healthy.id}
        assert len(messages) == HEALTHY
        return steps.total


async def _fill(bench: Bench, queue: Queue, count: int) -> None:
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        await bench.store.accept([bench.draft(queue) for _ in range(size)])
