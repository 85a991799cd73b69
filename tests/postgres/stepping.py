"""Two connections that step through a race by hand, and the checker that names what came of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg
import msgspec

from postroad.model.decide import Move
from postroad.model.entities import DEFAULT_TENANT, Draft, Lane, LaneKey, Message, Policy, QueueSpec
from postroad.model.ids import IdSequence
from postroad.model.outcome import Kind
from postroad.model.record import Record, Result, Want
from postroad.model.states import NEVER
from postroad.ports.clock import SystemClock
from postroad.stores.postgres.base import literal
from postroad.stores.postgres.connections import QUERIES
from postroad.stores.postgres.inbox import AcceptBatch
from postroad.stores.postgres.recording import RecordBatch
from postroad.stores.postgres.store import PostgresStore

POOL = "door"
LEVELS = range(7)
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# A due message of a lane that is nobody's, and no poller would claim that lane for it.
ASLEEP = """
select m.id from postroad.message m join postroad.rung r on r.id = m.rung_id
  join postroad.lane l on l.id = r.lane_id
 where l.owner is null and r.level >= 0 and m.due <= postroad.now_ms()
   and not exists (select from postroad.lane_level t
                    where t.lane_id = l.id and t.ready_at <= postroad.now_ms())
"""
WAITS = "select wait_event_type = 'Lock' from pg_stat_activity where pid = $1"


class Stand:
    """One queue on one lane, its owner, and two more connections, `one` and `two`."""

    def __init__(self, store: PostgresStore, owner: int, connections: Sequence[Connection]) -> None:
        self.store = store
        self.owner = owner
        self.one, self.two, self._watch = connections
        self.queue = self.lane_id = 0
        self._ids = IdSequence(1)

    async def prepare(self) -> None:
        spec = QueueSpec(DEFAULT_TENANT, "door://1/x", LaneKey(POOL, "1"), 1, Policy())
        (queue,) = await self.store.open_queues([spec])
        self.queue, (self.lane_id,) = queue.id, queue.lanes

    # What senders and owners do, in the store's own statements

    def draft(self) -> Draft:
        now_ms = self.store.clock.now_ms()
        number = self._ids.next(now_ms)
        return Draft(number, self.queue, self.lane_id, 0, 0, now_ms, now_ms, NEVER, b"1")

    async def accept(self, by: Connection, *drafts: Draft) -> Any:
        columns = AcceptBatch(drafts).columns()
        return msgspec.json.decode(await by.fetchval(QUERIES["accept"], *columns))

    async def claim(self) -> Lane:
        (lane,) = (await self.store.claim(self.owner, LEVELS, [POOL], 10)).lanes
        return lane

    async def read(self) -> list[Message]:
        """What the owner finds in its lane now."""
        rows = "select id from postroad.rung where lane_id = $1"
        wants = [Want(row["id"], -1, -1, 10) for row in await self.two.fetch(rows, self.lane_id)]
        return [m for reading in await self.store.fetch(wants) for m in reading.messages]

    async def release(self, by: Connection, lane: Lane) -> None:
        which = (literal([lane.id]), literal([lane.epoch]))
        await by.fetchval(QUERIES["release"], self.owner, *which, 0)

    def result(self, lane: Lane, message: Message, move: Move) -> Record:
        kind = Kind.delivered if move is Move.deliver else Kind.failed
        level = int(move is Move.climb)
        due_ms = self.store.clock.now_ms() + 60_000
        end = (None, "late", 0, self.store.clock.now_ms(), 1)
        result = Result(message, lane.epoch, kind, move, level, due_ms, *end)
        return Record(self.owner, [result], [], [])

    async def record(self, by: Connection, record: Record) -> list[bool]:
        """Answers which of the batch's lanes were still the owner's."""
        values = (record.owner, *RecordBatch(record).columns())
        held: list[bool] = msgspec.json.decode(await by.fetchval(QUERIES["record"], *values))[
            "held"
        ]
        return held

    # Guards

    async def without(self, function: str, guard: str, instead: str = "") -> None:
        """Take a guard out of a function of this database."""
        found = "select pg_get_functiondef(p.oid) from pg_proc p where p.proname = $1"
        text = await self.one.fetchval(found, function)
        assert guard in text, f"{function} has no such guard any more: {guard}"
        await self.one.execute("set search_path = postroad")
        await self.one.execute(text.replace(guard, instead))

    async def waits_for_a_lock(self, pid: int, step: Awaitable[Any]) -> "asyncio.Future[Any]":
        """Take a step, by a process of the server, that must wait for another's transaction."""
        task = asyncio.ensure_future(step)
        while not await self._watch.fetchval(WAITS, pid):
            assert not task.done(), "it did not wait"
            await asyncio.sleep(0.01)
        return task

    # What must hold

    async def check_sleepers(self) -> list[str]:
        """Every due message of a free lane can be found by a claim."""
        return [
            f"asleep: {row['id']} is due, its lane is nobody's, and no claim would find it"
            for row in await self.one.fetch(ASLEEP)
        ]

    async def check_fence(self, lane: Lane, message: Message) -> list[str]:
        """What an owner of an earlier epoch failed is as it was."""
        now = await self.one.fetchval("select epoch from postroad.lane where id = $1", lane.id)
        state = "select level, attempts from postroad.message where id = $1"
        row = await self.one.fetchrow(state, message.id)
        if now > lane.epoch and (row is None or tuple(row) != (message.level, message.attempts)):
            text = f"a late failure of epoch {lane.epoch} changed message {message.id}"
            return [f"fence: {text}, its lane is at epoch {now}"]
        return []


@asynccontextmanager
async def stand(dsn: str) -> AsyncIterator[Stand]:
    """On an empty database."""
    store = PostgresStore(dsn, SystemClock())
    await store.open()
    connections = [await asyncpg.connect(dsn) for _ in range(3)]
    try:
        made = Stand(store, await store.join(), connections)
        await made.prepare()
        yield made
    finally:
        for connection in connections:
            connection.terminate()
        await store.close()
