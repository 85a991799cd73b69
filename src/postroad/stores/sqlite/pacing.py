"""The ledgers of rate slots."""

from collections.abc import Sequence
from typing import Final

import msgspec

from postroad.model.entities import LaneKey
from postroad.model.facts import PaceFacts
from postroad.model.named_limits import NamedLimit, NewLimit
from postroad.model.pace import (
    DRAINING,
    LIFTED,
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
        rows = await self.read("pace", lambda db: db.all("paces_of_key", *values))
        return tuple(number for (number,) in rows)

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

    async def put_limit(self, new: NewLimit) -> None:
        """A named limit from now on, for the lanes that its pattern means."""
        now_us = self.clock.now_ms() * 1000
        await self.write("control", lambda db: _put_limit(db, new, now_us), durable=True)

    async def drop_limit(self, tenant: str, name: str) -> bool:
        """Lift a named limit; False when there is none."""
        now_us = self.clock.now_ms() * 1000
        return await self.write(
            "control", lambda db: _drop_limit(db, tenant, name, now_us), durable=True
        )

    async def named_limits(self, tenant: str | None) -> list[NamedLimit]:
        """The named limits of a tenant, or of all, that have not ended."""
        now_ms = self.clock.now_ms()
        rows = await self.read("control", lambda db: db.all("named_limits", tenant, now_ms))
        return [NamedLimit(*row) for row in rows]


def _reserve(db: Database, ask: Ask, now_us: int) -> Grant:
    found = [db.one("pace_by_id", number) for number in ask.ledgers]
    rows = [row for row in found if row and row[5] and not 0 < row[9] * 1000 <= now_us]
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
    number, cost, spacing_us, counted, next_us, *_, until_ms = row
    windows = COUNTED.decode(counted)
    rows = db.all("pace_counts", number) if windows else []
    used = {(length_us, bucket): count for length_us, bucket, count in rows}
    return Ledger(number, cost, spacing_us, windows, next_us, used, until_ms * 1000)


def _limit_queue(db: Database, queue: int, limit: Limit | None, now_us: int) -> None:
    check_queue(db, queue)
    _ = _limit(db, "queue", limit, now_us, queue)  # its number
    for (lane,) in db.all("queue_lanes", queue):
        recording.touch_lane(db, lane)


def limit_drain(db: Database, queue: int, limit: Limit, now_us: int) -> None:
    """Limit a queue that drains, or lift that; not where somebody has set a limit."""
    row = db.one("pace_of_queue", queue)
    if row is None or row[5].endswith(DRAINING) or not (row[5] or row[7]):
        _limit_queue(db, queue, limit, now_us)


def _limit_lane(db: Database, lane: int, limit: Limit | None, now_us: int) -> bool:
    alike = db.all("lanes_alike", lane)
    if alike:
        _ = _limit(db, "lane", limit, now_us, lane)  # its number
    for (number,) in alike:
        recording.touch_lane(db, number)
    return bool(alike)


def _limit(db: Database, kind: str, limit: Limit | None, now_us: int, *key: int | str) -> int:
    """Change a limit by its kind and key, or make it; answers its number."""
    row = db.one(f"pace_of_{kind}", *key)
    if row is None:
        db.run(f"pace_insert_{kind}", *key)
        row = db.one(f"pace_of_{kind}", *key)
    if row is None:  # pragma: no cover - it was just written in this transaction
        raise LookupError(key)
    new = limit or LIFTED
    hours = (new.hours.text, new.hours.zone) if new.hours else ("", "")
    counted = msgspec.json.encode(new.counted).decode()
    next_us = resumed_us(row[4], row[2], new.spacing_us, now_us)
    values = (new.text, new.cost, new.spacing_us, counted, *hours, next_us)
    db.run("pace_change", row[0], *values)
    db.run("pace_shares_drop", row[0], NEVER)
    return int(row[0])


def _put_limit(db: Database, new: NewLimit, now_us: int) -> None:
    for (ended,) in db.all("named_ended", now_us // 1000):
        drop_ledger(db, ended)
    number = _limit(db, "name", new.limit, now_us, new.tenant, new.name)
    _touch_named(db, number)  # those that it was for
    db.run("pace_place", number, new.lanes, new.until_ms)
    _touch_named(db, number)


def _drop_limit(db: Database, tenant: str, name: str, now_us: int) -> bool:
    known = [row[0] for row in db.all("named_limits", tenant, now_us // 1000)]
    if name not in known:
        return False
    _touch_named(db, _limit(db, "name", None, now_us, tenant, name))
    return True


def _touch_named(db: Database, number: int) -> None:
    for (lane,) in db.all("named_lanes", number):
        recording.touch_lane(db, lane)


def drop_ledger(db: Database, ledger: int) -> None:
    """Delete a limit with all that was counted."""
    db.run("pace_counts_drop", ledger)
    db.run("pace_shares_drop", ledger, NEVER)
    db.run("pace_drop", ledger)


def pace_facts(db: Database, queue: int, lane: int, now_ms: int) -> tuple[PaceFacts, ...]:
    """The limits that a queue and a lane stand under, and how far they are used."""
    own = db.all("pace_of_queue", queue)
    rows = [(True, row) for row in db.all("paces_of_lane", lane)] + [(False, row) for row in own]
    return tuple(
        _facts(db, row, now_ms, shared=shared)
        for shared, row in rows
        if (row[5] or row[7]) and not 0 < row[9] <= now_ms
    )


def _facts(db: Database, row: Row, now_ms: int, *, shared: bool) -> PaceFacts:
    ledger = read_ledger(db, row)
    full_ms = full_us(ledger, ledger.cost, now_ms * 1000) // 1000
    until_ms = ledger.next_us // 1000 if row[5] else 0
    return PaceFacts(shared, row[5], ledger.cost, until_ms, full_ms, *row[6:10])
