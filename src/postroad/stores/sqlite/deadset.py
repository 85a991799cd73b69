"""The dead set: pages of it, replays and purges in one transaction."""

from typing import Final, NamedTuple, NoReturn

from postroad.model.dead import DeadFilter, DeadLetter, DeadMessage, Place, ReplayMode, headers_of
from postroad.model.errors import NotDead, UnknownMessage
from postroad.model.ids import to_text
from postroad.model.ladder import Ladder
from postroad.model.outcome import Kind
from postroad.model.states import DeadReason
from postroad.model.tries import Try
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database, Row
from postroad.stores.sqlite.inbox import POLICY_DECODER, rung_of, wake
from postroad.stores.sqlite.recording import forget, settle_order_group

TRIM_SLICE: Final = 1_000
FEW_QUEUES: Final = 1_000
"""A tenant with fewer has its dead looked up by queue; those of more are most of all anyway."""


class SqliteDeadSet(SqliteBase):
    """Reads, replays and purges the dead set."""

    async def dead_page(self, which: DeadFilter, after: Place, limit: int) -> list[DeadMessage]:
        """A page, the latest death first."""
        values = (*_values(which), *after, limit)
        return await self.read(
            "dead", lambda db: [_message(row) for row in db.all("dead_page", *values)]
        )

    async def dead_letter(self, tenant: str | None, number: int) -> DeadLetter | None:
        """One dead message with its body, headers and tries."""
        return await self.read("dead", lambda db: letter(db, tenant, number))

    async def dead_replay(
        self, which: DeadFilter, mode: ReplayMode, *, count: int, dry_run: bool
    ) -> int:
        """Put dead messages back on their rungs."""
        now_ms = self.clock.now_ms()
        if dry_run:
            return await self.read("dead", lambda db: len(_replayable(db, which, count)))
        return await self.write(
            "dead", lambda db: replay(db, which, mode, count, now_ms), durable=True
        )

    async def dead_purge(self, which: DeadFilter, *, count: int, dry_run: bool) -> int:
        """Delete dead messages and their tries."""
        if dry_run:
            return await self.read("dead", lambda db: len(_dead(db, which, count)))
        return await self.write("dead", lambda db: purge(db, which, count), durable=True)

    async def dead_trim(self, keep: int) -> int:
        """Delete a slice of the longest dead beyond so many."""
        return await self.write("retain", lambda db: trim(db, keep))


def letter(db: Database, tenant: str | None, number: int) -> DeadLetter | None:
    """A dead message with all that was sent and tried."""
    row = db.one("dead_letter", number, tenant)
    if row is None:
        return None
    *values, headers, body = row
    return DeadLetter(_message(tuple(values)), headers_of(headers), body, tries(db, number))


def tries(db: Database, number: int) -> tuple[Try, ...]:
    """A message's tries that did not deliver."""
    return tuple(_try(row) for row in db.all("attempts_of", number))


def _try(row: Row) -> Try:
    number, started_at, level, kind, status, took_ms, error = row
    return Try(number, started_at, level, Kind(kind), status, took_ms, error)


def _message(row: Row) -> DeadMessage:
    number, tenant, queue, reason, *rest = row
    return DeadMessage(to_text(number), tenant, queue, DeadReason(reason), *rest)


def _values(which: DeadFilter) -> tuple[str | int | None, ...]:
    filters = (which.tenant, which.queue, which.reason, which.error)
    return (*filters, which.since_ms, which.until_ms)


class ReplayTarget(NamedTuple):
    """A message to be replayed or purged; `rung` and `place` are set for a head that holds its
    order_group."""

    number: int
    queue: int
    lane: int
    priority: int
    order_group: int
    accepted_at_ms: int
    rung: int = 0
    place: int = 0


def replay(db: Database, which: DeadFilter, mode: ReplayMode, count: int, now_ms: int) -> int:
    """Put the chosen messages back on their rungs, due now; answers how many."""
    chosen = _replayable(db, which, count)
    levels = {queue: mode.level(_ladder(db, queue)) for queue in {one.queue for one in chosen}}
    _revive(db, [one for one in chosen if not one.rung], levels, now_ms)
    for head in [one for one in chosen if one.rung]:
        db.run("held_revive", head.number, levels[head.queue], now_ms)
        settle_order_group(db, head.rung, head.place)
    return len(chosen)


def _revive(db: Database, dead: list[ReplayTarget], levels: dict[int, int], now_ms: int) -> None:
    rows: list[Row] = []
    first: dict[int, Row] = {}
    # In an order group they go in the order in which they were accepted.
    for one in sorted(dead, key=lambda one: (one.accepted_at_ms, one.number)):
        level = levels[one.queue]
        rung = rung_of(db, one.lane, one.queue, level, one.priority, one.order_group)
        place = (db.number("rung_next_place", rung) or 0) if one.order_group else now_ms
        rows.append((one.number, rung, place, now_ms, level))
        first.setdefault(rung, (one.order_group, place))
    db.many("dead_revive", rows)
    db.many("dead_delete", [(one.number,) for one in dead])
    for rung, (order_group, place) in first.items():
        if order_group:
            settle_order_group(db, rung, place)
        else:
            wake(db, rung, now_ms)


def purge(db: Database, which: DeadFilter, count: int) -> int:
    """Delete the chosen messages; answers how many."""
    gone = [(one.number, one.queue) for one in _dead(db, which, count)]
    db.many("dead_delete", [(number,) for number, _ in gone])
    forget(db, gone)
    return len(gone)


def trim(db: Database, keep: int) -> int:
    """Delete the longest dead beyond so many, a slice at a time."""
    gone = db.all("dead_trim", keep, TRIM_SLICE)
    forget(db, gone)
    return len(gone)


def _replayable(db: Database, which: DeadFilter, count: int) -> list[ReplayTarget]:
    if which.ids is None:
        return _dead(db, which, count)
    return [
        _named(db, "dead_find", number, which.tenant)
        or _named(db, "held_head", number, which.tenant)
        or _refuse(db, number, which.tenant)
        for number in dict.fromkeys(which.ids)
    ]


def _dead(db: Database, which: DeadFilter, count: int) -> list[ReplayTarget]:
    if which.ids is None:
        return [ReplayTarget(*row) for row in db.all(_pick(db, which), *_values(which), count)]
    return [
        _named(db, "dead_find", number, which.tenant) or _refuse(db, number, which.tenant)
        for number in dict.fromkeys(which.ids)
    ]


def _pick(db: Database, which: DeadFilter) -> str:
    """The statement that walks the fewest dead of others."""
    if which.tenant is None:
        return "dead_pick"
    if which.queue is not None:
        return "dead_pick_queue"
    few = (db.number("has_queues", which.tenant, FEW_QUEUES) or 0) < FEW_QUEUES
    return "dead_pick_tenant" if few else "dead_pick"


def _named(db: Database, query: str, number: int, tenant: str | None) -> ReplayTarget | None:
    row = db.one(query, number, tenant)
    return ReplayTarget(*row) if row else None


def _refuse(db: Database, number: int, tenant: str | None) -> NoReturn:
    row = db.one("not_dead", number, tenant)
    if row is None:
        raise UnknownMessage(
            f"{to_text(number)} is not in the dead set, and nowhere else on this road: "
            "check the id and its tenant; it may have been purged, or forgotten for its age"
        )
    raise NotDead(f"{to_text(number)} is {row[0]}, not dead: nothing was changed")


def _ladder(db: Database, queue: int) -> Ladder:
    row = db.one("queue_by_id", queue)
    if row is None:  # pragma: no cover - queues are never deleted
        raise LookupError(queue)
    return POLICY_DECODER.decode(row[3]).ladder
