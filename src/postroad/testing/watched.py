"""The real SQLite store with a witness inside its transactions."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from postroad.model.decide import Move
from postroad.model.errors import StoreUnavailable
from postroad.model.record import Claim, Record, Recorded
from postroad.model.states import State
from postroad.ports.clock import Clock
from postroad.stores.sqlite import leases, recording
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive
from postroad.testing.ledger import Ledger

T = TypeVar("T")


class WatchedStore(SqliteStore):
    """Tells the ledger who owns what, what became final, and what changed that must not."""

    def __init__(self, path: Path, clock: Clock, ledger: Ledger) -> None:
        super().__init__(path, clock, drive=InlineDrive)
        self._ledger = ledger
        self.claims = 0
        self.faults: Callable[[], str] = str
        """Asked at every write: "before" or "after" the commit the answer is an error."""

    async def claim(
        self, owner: int, levels: Sequence[int], pools: Sequence[str], limit: int
    ) -> Claim:
        """As in the real one, and noted inside the transaction's turn."""
        now_ms = self.clock.now_ms()

        def watched(db: Database) -> Claim:
            self.claims += 1
            claim = leases.claim(db, owner, levels, pools, limit, now_ms)
            for lane in claim.lanes:
                self._ledger.claimed(f"{lane.key.server}/{lane.key.shard}", lane.epoch, owner)
            return claim

        return await self._write("claim", watched)

    async def record(self, record: Record) -> Recorded:
        """As in the real one, with the fence watched from inside the transaction."""
        now_ms = self.clock.now_ms()

        def watched(db: Database) -> Recorded:
            late = [
                r for r in record.results if _fence(db, r.message.lane) != (record.owner, r.epoch)
            ]
            failures = [r.message.id for r in late if r.move is not Move.deliver]
            before = [_row(db, number) for number in failures]
            answer = recording.record(db, record, now_ms)
            for number, row in zip(failures, before, strict=True):
                if _row(db, number) != row:
                    self._ledger.breach("fence", f"a late failure changed message {number}")
            for result in record.results:
                if result not in late:
                    live = bool(_row(db, result.message.id))
                    self._ledger.recorded(record.owner, result, now_ms, live=live)
            return answer

        return await self._write("record", watched)

    async def _write(
        self, label: str, work: Callable[[Database], T], *, durable: bool = False
    ) -> T:
        fault = self.faults()
        if fault == "before":
            raise StoreUnavailable("simulated: the store was away")
        answer = await super()._write(label, work, durable=durable)
        if fault == "after":
            raise StoreUnavailable("simulated: committed, but the answer was lost")
        return answer

    async def states(self) -> dict[int, State]:
        """Every message that the store knows, and where it is."""

        def read(db: Database) -> dict[int, State]:
            rows = db.connection.execute(
                "select id, 'waiting' from message union all select id, state from history "
                "union all select id, 'dead' from dead"
            )
            return {number: State(state) for number, state in rows}

        return await self._read("insight", read)


def _fence(db: Database, lane: int) -> object:
    return db.one("lane_fence", lane)


def _row(db: Database, number: int) -> Sequence[object]:
    return db.connection.execute(
        "select rung_id, level, attempts, place from message where id = ?", (number,)
    ).fetchall()
