"""The real SQLite store, observed inside its transactions."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from postroad.model.decide import Move
from postroad.model.entities import Lane
from postroad.model.errors import StoreUnavailable
from postroad.model.record import Claim, Record, Recorded, Result
from postroad.model.states import FINAL, State
from postroad.ports.clock import Clock
from postroad.ports.store import Levels, Names
from postroad.stores.sqlite import claiming, control, leases, recording
from postroad.stores.sqlite.claiming import ClaimRequest
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from tests.rig.ledger import DeliveryLedger

T = TypeVar("T")
PLACES: Final = frozenset({"message", "history", "dead"})
STATES: Final = """
with place (id, state) as (
  select m.id, case when r.level < 0 then 'uncertain'
                    when q.paused_at > 0 or l.paused_at > 0 or l.circuit_opened > 0
                      or q.block_until > ?1 or r.held <> '' then 'held'
                    else 'waiting' end
    from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
    join lane l on l.id = r.lane_id
  union all select id, state from history
  union all select id, 'dead' from dead)
select id, state from place"""
STATE: Final = f"{STATES} where id = ?2"
ENDS: Final = "select id, attempts from history union all select id, attempts from dead"
LANE_NAME: Final = "select server || '/' || shard from lane where id = ?1"
QUEUE_NAME: Final = "select name from queue where id = ?1"


class WatchedStore(SqliteStore):
    """Reports owners and states of messages to the ledger, and changes that are not allowed."""

    def __init__(self, path: Path, clock: Clock, ledger: DeliveryLedger) -> None:
        super().__init__(path, clock, drive=InlineDrive)
        self._ledger = ledger
        self._touched: dict[int, None] = {}
        self.claims = 0
        self.faults: Callable[[], str] = str
        """Called at every write: "before" or "after" makes it fail before or after the commit."""

    async def open(self) -> None:
        """Open the store, and observe its tables."""
        await super().open()
        self._databases[0].connection.set_update_hook(self._on_change)

    def _on_change(self, _kind: int, _database: str, table: str, row: int) -> None:
        if table in PLACES:
            self._touched[row] = None

    async def claim(
        self, owner: int, levels: Levels, pools: Names, limit: int, without: Names = ()
    ) -> Claim:
        """Claim lanes, and report the claim inside the transaction."""
        ask = ClaimRequest(levels, pools, limit, frozenset(without), self.clock.now_ms())

        def watched(db: Database) -> Claim:
            self.claims += 1
            claim = claiming.claim(db, owner, ask)
            for lane in claim.lanes:
                self._ledger.claimed(f"{lane.key.server}/{lane.key.shard}", lane.epoch, owner)
            return claim

        return await self.write("claim", watched)

    async def mark(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Mark the start of messages, and report it."""

        def watched(db: Database) -> bool:
            ours = leases.mark(db, lane.id, lane.epoch, owner, ids)
            for number in ids if ours else ():
                self._ledger.marked(number)
            return ours

        return await self.write("mark", watched, durable=True)

    async def record(self, record: Record) -> Recorded:
        """Record results, and check inside the transaction that late failures change nothing."""
        now_ms = self.clock.now_ms()

        def watched(db: Database) -> Recorded:
            late = [
                r for r in record.results if _fence(db, r.message.lane) != (record.owner, r.epoch)
            ]
            failures = [r.message.id for r in late if r.move is not Move.deliver]
            before = [_row(db, number) for number in failures]
            for result in record.results:
                if self._takes(db, result, late=result in late):
                    self._ledger.taken(record.owner, result)
            answer = recording.record(db, record, now_ms)
            for number, row in zip(failures, before, strict=True):
                if _row(db, number) != row:
                    self._ledger.breach("fence", f"a late failure changed message {number}")
            for result in record.results:
                if result not in late:
                    live = bool(_row(db, result.message.id))
                    self._ledger.recorded(record.owner, result, now_ms, live=live)
            return answer

        return await self.write("record", watched)

    def _takes(self, db: Database, result: Result, *, late: bool) -> bool:
        """Whether a result counts: a success for unfinished or dead messages, a failure only for
        unfinished ones of its own lane."""
        states = set(self._states_of(db, result.message.id))
        if result.move is Move.deliver:
            return not states & {State.delivered, State.cancelled}
        return not late and not states & FINAL

    def _states_of(self, db: Database, number: int) -> list[State]:
        rows = db.connection.execute(STATE, (self.clock.now_ms(), number))
        return [State(state) for _, state in rows]

    async def pause_queue(self, queue: int, *, paused: bool) -> None:
        """Pause or resume a queue, and report it."""
        now_ms = self.clock.now_ms()

        def watched(db: Database) -> None:
            control.pause_queue(db, queue, now_ms, paused=paused)
            self._ledger.paused(_name(db, QUEUE_NAME, queue), now_ms, paused=paused)

        await self.write("control", watched)

    async def pause_lane(self, lane: int, *, paused: bool) -> None:
        """Pause or resume a lane, and report it."""
        now_ms = self.clock.now_ms()

        def watched(db: Database) -> None:
            control.pause_lane(db, lane, now_ms, paused=paused)
            self._ledger.paused(_name(db, LANE_NAME, lane), now_ms, paused=paused)

        await self.write("control", watched)

    async def write(
        self,
        label: str,
        work: Callable[[Database], T],
        *,
        durable: bool = False,
        hasty: bool = False,
    ) -> T:
        """Run work as the store does, with simulated faults; the ledger sees what it changed."""
        fault = self.faults()
        if fault == "before":
            raise StoreUnavailable("simulated: the store was away")

        def watched(db: Database) -> T:
            self._touched.clear()
            answer = work(db)
            self._follow(db)
            return answer

        answer = await super().write(label, watched, durable=durable, hasty=hasty)
        if fault == "after":
            raise StoreUnavailable("simulated: committed, but the answer was lost")
        return answer

    def _follow(self, db: Database) -> None:
        for number in self._touched:
            self._ledger.moved(number, self._states_of(db, number))

    async def states(self) -> dict[int, State]:
        """The state of every message; the ledger compares them with the counts."""
        now_ms = self.clock.now_ms()

        def read(db: Database) -> dict[int, State]:
            rows = db.connection.execute(STATES, (now_ms,))
            states = {number: State(state) for number, state in rows}
            counts: dict[str, int] = dict(db.all("counts", now_ms))
            self._ledger.tallied(states, counts, dict(db.connection.execute(ENDS)))
            return states

        return await self.read("insight", read)


def _fence(db: Database, lane: int) -> object:
    return db.one("lane_fence", lane)


def _row(db: Database, number: int) -> Sequence[object]:
    return db.connection.execute(
        "select rung_id, level, attempts, place from message where id = ?", (number,)
    ).fetchall()


def _name(db: Database, query: str, number: int) -> str:
    return "".join(str(name) for (name,) in db.connection.execute(query, (number,)))
