"""The ledgers of rate slots."""

from collections.abc import Sequence
from typing import Final

import msgspec

from postroad.model.entities import LaneKey
from postroad.model.facts import PaceFacts
from postroad.model.pace import (
    NEVER_US,
    PRESENT_US,
    Ask,
    Grant,
    Ledger,
    Limit,
    Reserved,
    Share,
    Window,
    forget_old,
    full_us,
    reserve,
    resumed_us,
)
from postroad.model.states import NEVER
from postroad.stores.sqlite import recording
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database, Row
from postroad.stores.sqlite.inbox import check_queue

COUNTED: Final = msgspec.json.Decoder(tuple[Window, ...])


class SqlitePacing(SqliteBase):
    """Reserves slots and sets limits."""

    async def reserve(self, asks: Sequence[Ask]) -> Reserved:
        """Take slots, or say when to ask again, in one transaction."""
        now_us = self.clock.now_ms() * 1000
        grants = await self.write(
            "pace", lambda db: tuple(_reserve(db, ask, now_us) for ask in asks), durable=True
        )
        return Reserved(now_us, grants)

    async def ledgers(self, key: LaneKey) -> tuple[int, ...]:
        """The ledgers that a start on this credential takes a slot of."""
        values = (key.tenant, key.transport, key.server, key.credential)
        row = await self.read("pace", lambda db: db.one("pace_of_key", *values))
        return (row[0],) if row and row[5] else ()

    async def limit_queue(self, queue: int, limit: Limit | None) -> None:
        """A queue's own limit from now on; None lifts it."""
        now_us = self.clock.now_ms() * 1000
        await self.write("control", lambda db: _limit_queue(db, queue, limit, now_us), durable=True)

    async def limit_lane(self, lane: int, limit: Limit | None) -> bool:
        """The limit of a lane's credential from now on; False when there is no such lane."""
        now_us = self.clock.now_ms() * 1000
        return await self.write(
            "control", lambda db: _limit_lane(db, lane, limit, now_us), durable=True
        )


def _reserve(db: Database, ask: Ask, now_us: int) -> Grant:
    rows = [row for number in ask.ledgers if (row := db.one("pace_by_id", number)) and row[5]]
    if not rows:  # the limit is gone, and this process does not know yet
        return Grant(tuple([now_us] * ask.starts))
    ledgers = [read_ledger(db, row) for row in rows]
    shared = ledgers[0]
    before = [dict(ledger.used) for ledger in ledgers]
    shares = {name: Share(*rest) for name, *rest in db.all("pace_shares", shared.id)}
    grant = reserve(ask, ledgers, shares, now_us)
    if grant.again_us == NEVER_US:
        return grant
    mine = shares[ask.name]
    values = (mine.taken, mine.seen_us, mine.again_us)
    db.run("pace_shares_drop", shared.id, now_us - PRESENT_US)
    db.run("pace_share_set", shared.id, ask.name, *values)
    if grant.at_us:
        for ledger, old in zip(ledgers, before, strict=True):
            db.run("pace_next", ledger.id, ledger.next_us)
            _write_counts(db, ledger, old, now_us)
    return grant


def _write_counts(
    db: Database, ledger: Ledger, before: dict[tuple[int, int], int], now_us: int
) -> None:
    changed = [(key, used) for key, used in ledger.used.items() if before.get(key) != used]
    for (length_us, bucket), used in changed:
        db.run("pace_count_set", ledger.id, length_us, bucket, used)
    for length_us, bucket in forget_old(ledger, now_us):
        db.run("pace_count_drop", ledger.id, length_us, bucket)


def read_ledger(db: Database, row: Row) -> Ledger:
    """A ledger from its row."""
    number, cost, spacing_us, counted, next_us = row[:5]
    windows = COUNTED.decode(counted)
    rows = db.all("pace_counts", number) if windows else []
    used = {(length_us, bucket): count for length_us, bucket, count in rows}
    return Ledger(number, cost, spacing_us, windows, next_us, used)


def _limit_queue(db: Database, queue: int, limit: Limit | None, now_us: int) -> None:
    check_queue(db, queue)
    _limit(db, "queue", queue, limit, now_us)
    for (lane,) in db.all("queue_lanes", queue):
        recording.touch_lane(db, lane)


def _limit_lane(db: Database, lane: int, limit: Limit | None, now_us: int) -> bool:
    alike = db.all("lanes_alike", lane)
    if alike:
        _limit(db, "lane", lane, limit, now_us)
    for (number,) in alike:
        recording.touch_lane(db, number)
    return bool(alike)


def _limit(db: Database, kind: str, number: int, limit: Limit | None, now_us: int) -> None:
    row = db.one(f"pace_of_{kind}", number)
    counted = msgspec.json.encode(limit.counted if limit else ()).decode()
    values = (limit.text, limit.cost, limit.spacing_us) if limit else ("", 1, 0)
    if row is None:
        db.run(f"pace_insert_{kind}", number, *values, counted)
        return
    next_us = resumed_us(row[4], row[2], values[2], now_us)
    db.run("pace_change", row[0], *values, counted, next_us)
    db.run("pace_shares_drop", row[0], NEVER)


def pace_facts(db: Database, queue: int, lane: int, now_ms: int) -> tuple[PaceFacts, ...]:
    """The limits that a queue and a lane stand under, and how far they are used."""
    found = ((True, db.one("pace_of_lane", lane)), (False, db.one("pace_of_queue", queue)))
    return tuple(_facts(db, row, now_ms, shared=shared) for shared, row in found if row and row[5])


def _facts(db: Database, row: Row, now_ms: int, *, shared: bool) -> PaceFacts:
    ledger = read_ledger(db, row)
    full_ms = full_us(ledger, ledger.cost, now_ms * 1000) // 1000
    return PaceFacts(shared, row[5], ledger.cost, ledger.next_us // 1000, full_ms)
