"""Lists of messages: by the rungs, the dead set and the index of finished ones, or walking."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from postroad.model.ids import EPOCH_MS, first_after, made_at_ms
from postroad.model.listing import (
    STATES,
    FoundRows,
    ListRequest,
    ListRow,
    ListScope,
    Shelf,
    gather,
)
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database

RUNGS_MAX: Final = 1_000
PASSED_MAX: Final = 2_000
"""As in the statement list_edge: messages that lie elsewhere than their ids say."""
WALKED_MAX: Final = 5_000
"""Messages of other queues that are looked at where no index has the ones that are asked for."""
AHEAD_MS: Final = 64
"""How far the ids of a burst run ahead of the time of acceptance."""
INDEX_SLICE: Final = 10_000
"""Messages that one transaction puts into the index, about 20 ms."""
INDEX_LAG_MS: Final = 1_000


class SqliteListing(SqliteBase):
    """Lists messages."""

    async def list_scope(
        self, tenant: str | None, queue: str | None, prefix: str, most: int
    ) -> ListScope | None:
        """The queues that a filter names, and their rungs."""
        now_ms = self.clock.now_ms()

        def find(db: Database) -> ListScope | None:
            if tenant is None:
                queues = db.all("list_queues_of_all", queue, prefix, most + 1)
            elif queue is None:
                queues = db.all("list_queues_of", tenant, prefix, most + 1)
            else:
                queues = db.all("list_queues_named", tenant, queue)
            if len(queues) > most:
                return None
            rungs = db.all("list_rungs", _ids(n for n, *_ in queues), "[]", now_ms)
            scope = ListScope.of(queues, rungs)
            return scope if len(scope.rungs) <= RUNGS_MAX else None

        return await self.read("lists", find)

    async def list_names(self, queues: Sequence[int], rungs: Sequence[int]) -> ListScope:
        """Some queues and rungs."""
        values, now_ms = (_ids(queues), _ids(rungs)), self.clock.now_ms()
        return await self.read(
            "lists",
            lambda db: ListScope.of(
                db.all("list_queue_names", *values), db.all("list_rungs", "[]", values[1], now_ms)
            ),
        )

    async def list_messages(self, request: ListRequest) -> FoundRows:
        """The first messages between two ids."""
        now_ms = self.clock.now_ms()
        return await self.read("lists", lambda db: _Search(db, request, now_ms).run())

    async def list_rows(self, ids: Sequence[int]) -> FoundRows:
        """Those of these messages that are unfinished."""
        now_ms = self.clock.now_ms()
        return await self.read(
            "lists", lambda db: FoundRows(_rows(db, {Shelf.message: list(ids)}, now_ms), None)
        )

    async def list_index(self, *, start: bool) -> int | None:
        """Bring the index forward by a slice."""
        edge = first_after(self.clock.now_ms() - INDEX_LAG_MS)
        if not start and not self._databases[0].listed_until:
            return None
        return await self.write("lists", lambda db: index(db, edge))

    async def list_indexed_ms(self) -> int:
        """Return until when finished messages are in the index."""
        return made_at_ms(self._databases[0].listed_until if self._databases else 0)


def index(db: Database, edge: int) -> int | None:
    """Put the next slice of messages into the index; answers up to where, or None at its end."""
    until = db.number("list_mark") or 0
    last = db.number("list_slice", until, edge, INDEX_SLICE)
    to = max(until, edge - 1 if last is None else last)
    if to > until:
        db.run("list_put", until, to)
        db.run("list_mark_write", to)
        db.listed_until = to
    return None if last is None else to


def _ids(numbers: Iterable[int]) -> str:
    return msgspec.json.encode(list(numbers)).decode()


def _rows(db: Database, shelves: dict[Shelf, list[int]], now_ms: int) -> list[ListRow]:
    found: list[ListRow] = []
    for shelf, ids in shelves.items():
        if ids:
            more = (now_ms,) if shelf is Shelf.broker else ()
            rows = db.all(f"list_rows_{shelf}", _ids(ids), *more)
            found += [
                ListRow(number, owner, shelf, STATES[state], *rest)
                for number, owner, state, *rest in rows
            ]
    return found


class _Search:
    """One search for messages between two ids."""

    def __init__(self, db: Database, request: ListRequest, now_ms: int) -> None:
        self._db = db
        self._request = request
        self._now_ms = now_ms
        self._way = "newest" if request.newest else "oldest"
        self._range = (request.low, request.high)
        self._bounds: list[int] = []

    def run(self) -> FoundRows:
        """Find ids on each shelf, then read the rows of the first ones."""
        request = self._request
        finders = {
            Shelf.message: self._unfinished,
            Shelf.broker: self._noted,
            Shelf.dead: self._dead,
            Shelf.history: self._finished,
        }
        ids = {shelf: finders[shelf]() for shelf in request.shelves}
        ids = {shelf: self._first(found) for shelf, found in ids.items()}
        edges = [found[-1] for found in ids.values() if len(found) >= request.limit]
        edges += self._bounds
        if edges:  # what lies behind is not shown, so it is not read
            edge = max(edges) if request.newest else min(edges)
            for shelf, found in ids.items():
                ids[shelf] = [n for n in found if (n >= edge if request.newest else n <= edge)]
        return gather(_rows(self._db, ids, self._now_ms), edges, request)

    def _first(self, ids: Iterable[int]) -> list[int]:
        return sorted(set(ids), reverse=self._request.newest)[: self._request.limit]

    def _all(self, query: str, *values: int) -> list[int]:
        return [row[0] for row in self._db.all(query, *values)]

    def _dead(self) -> list[int]:
        if self._request.queues is None:
            return self._all(f"list_dead_walk_{self._way}", *self._range, self._request.limit)
        return self._of_queues(f"list_dead_{self._way}")

    def _noted(self) -> list[int]:
        if self._request.queues is None:
            return self._all(f"list_broker_walk_{self._way}", *self._range, self._request.limit)
        return self._of_queues(f"list_broker_{self._way}")

    def _of_queues(self, query: str) -> list[int]:
        request = self._request
        return [
            number
            for queue in request.queues or ()
            for number in self._all(query, queue, *self._range, request.limit)
        ]

    def _unfinished(self) -> list[int]:
        request = self._request
        if request.queues is None:
            return self._all(f"list_message_{self._way}", *self._range, request.limit)
        found: list[int] = []
        for rung in request.rungs:
            ids = self._rung(rung)
            if ids is None:
                return self._walk(frozenset(request.rungs))
            found += ids
        return found

    def _rung(self, rung: int) -> list[int] | None:
        """The first messages of a rung; None when too many others lie between them."""
        low, high = self._range
        newest, limit = self._request.newest, self._request.limit
        first, last = (low >> 22) + EPOCH_MS - AHEAD_MS, (high >> 22) + EPOCH_MS
        edge_values = (rung, first, last, low, high, limit)
        (count, edge) = self._db.one(f"list_edge_{self._way}", *edge_values) or (0, None)
        if count >= limit and newest:
            first = max(first, edge - AHEAD_MS)
        elif count >= limit:
            last = min(last, edge + AHEAD_MS)
        elif self._all(f"list_beyond_{self._way}", rung, first, last, limit + PASSED_MAX):
            return None
        return self._all(f"list_rung_{self._way}", rung, first, last, low, high, limit)

    def _walk(self, rungs: frozenset[int]) -> list[int]:
        looked = self._all(f"list_message_{self._way}", *self._range, WALKED_MAX)
        if len(looked) == WALKED_MAX:
            self._bounds.append(looked[-1])
        rows = _rows(self._db, {Shelf.message: looked}, self._now_ms)
        return [row.id for row in rows if row.owner in rungs]

    def _finished(self) -> list[int]:
        """Read finished messages: by the index as far as it reaches, then one by one."""
        request, (low, high) = self._request, self._range
        if request.queues is None:
            return self._all(f"list_history_{self._way}", low, high, request.limit)
        until = self._db.number("list_mark") or 0
        found: list[int] = []
        if request.newest and high > until and not self._late(max(low, until + 1), high, found):
            return found
        if low <= until:
            for queue in request.queues:
                values = (queue, low, min(high, until), request.limit)
                found += self._all(f"list_indexed_{self._way}", *values)
        if not request.newest and len(found) < request.limit and high > until:
            _ = self._late(max(low, until + 1), high, found)  # it notes where it stopped
        return found

    def _late(self, low: int, high: int, found: list[int]) -> bool:
        """Walk over what is not in the index yet; False when there was too much."""
        rows = self._db.all(f"list_history_{self._way}", low, high, WALKED_MAX)
        found += [number for number, queue in rows if queue in (self._request.queues or ())]
        if len(rows) < WALKED_MAX:
            return True
        self._bounds.append(rows[-1][0])
        return False
