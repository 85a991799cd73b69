"""The search for one page of messages."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from postroad.model.errors import UnknownQueue
from postroad.model.ids import to_number
from postroad.model.listing import (
    ListedMessage,
    ListFilter,
    ListRequest,
    ListRow,
    ListScope,
    RungFacts,
    Shelf,
    shown,
)
from postroad.model.recipients import may_name
from postroad.model.states import State
from postroad.ports.store import Store

QUEUES_MAX: Final = 20
"""Queues that a page searches one by one; where a filter names more, it walks by time."""
LOOKED_AT_MAX: Final = 5_000
"""Messages that are looked at for one page, where no index serves a filter."""
COMPARED: Final = 500
"""Messages that are read at once to be compared."""
UNFINISHED: Final = (Shelf.message, Shelf.broker)


class Search:
    """Collects one page."""

    def __init__(
        self, store: Store, which: ListFilter, in_flight: frozenset[int], *, in_broker: bool
    ) -> None:
        self._store = store
        self._in_broker = in_broker
        self._shelves = tuple(s for s in which.shelves if in_broker or s is not Shelf.broker)
        self._which = which
        self._in_flight = in_flight
        self._scope: ListScope | None = None
        self._names = ListScope({}, {})
        self._step = -1 if which.newest else 1
        self.unindexed = which.unindexed
        self._compares = bool(which.unindexed)
        self.messages: list[ListedMessage] = []
        self.looked_at = 0
        self.next: int | None = None
        """Where the next page starts."""

    async def run(self, low: int, high: int, limit: int) -> None:
        """Look through a range of ids, until the page is full or enough was looked at."""
        which = self._which
        self._scope = await self._store.list_scope(
            which.tenant, which.queue, which.prefix, QUEUES_MAX
        )
        if self._scope is not None:
            self._names = self._scope
            if which.queue is not None and not self._scope.queues:
                raise UnknownQueue(
                    f"this road has no queue {which.queue!r} of tenant {which.tenant!r}: see "
                    "`postroad queues`, or end the name with * to search by prefix"
                )
        elif which.tenant is not None or which.prefix:
            self.unindexed = ("queue" if which.prefix else "tenant", *self.unindexed)
        if which.recipient:
            await self._to_recipient(low, high, limit)
            return
        if which.state is State.sending and not self._in_broker:
            await self._sending(low, high, limit)
            return
        while low <= high:
            low, high = await self._look(low, high, limit)
            if self.next is not None:
                return

    async def _look(self, low: int, high: int, limit: int) -> tuple[int, int]:
        """Look at some messages. Returns the rest of the range; `next` is set when the page is
        done before its end."""
        compared = self.unindexed or self.looked_at
        count = max(limit + 1, COMPARED) if compared else limit + 1
        request = self._request(low, high, count)
        found = await self._store.list_messages(request)
        self.looked_at += len(found.rows) if found.until is None else max(count, len(found.rows))
        for message in await self._shown(found.rows):
            if message is None or not self._matches(message):
                continue
            if len(self.messages) == limit:
                self.next = to_number(self.messages[-1].id) + self._step
                return low, high
            self.messages.append(message)
        if found.until is None:
            return 1, 0
        start = found.until + self._step
        if len(self.messages) == limit or self.looked_at >= LOOKED_AT_MAX:
            self.next = start
        return (low, start) if self._which.newest else (start, high)

    def _request(self, low: int, high: int, count: int) -> ListRequest:
        queues = None if self._scope is None else tuple(self._scope.queues)
        rungs = () if self._scope is None else tuple(self._rungs(self._scope))
        return ListRequest(self._shelves, queues, rungs, low, high, self._which.newest, count)

    def _rungs(self, scope: ListScope) -> list[int]:
        """Which rungs can have such messages: a block is on a rung, never on messages."""
        return [rung.id for rung in scope.rungs.values() if self._fits(rung)]

    def _fits(self, rung: RungFacts) -> bool:
        which = self._which
        if which.level is not None and not rung.order_group and rung.level not in (which.level, -1):
            return False
        if which.order_key is not None and not rung.order_group:
            return False
        match which.state:
            case State.waiting:
                return rung.level >= 0 and not rung.because
            case State.held:
                return rung.level >= 0 and bool(rung.because)
            case State.uncertain:
                return rung.level < 0
            case _:
                return True

    async def _shown(self, rows: Sequence[ListRow]) -> list[ListedMessage | None]:
        """Rows with the names of their queues; None when its queue was deleted."""
        unfinished = {row.owner for row in rows if row.shelf is Shelf.message}
        owners = {row.owner for row in rows if row.shelf is not Shelf.message}
        queues, rungs = owners - self._names.queues.keys(), unfinished - self._names.rungs.keys()
        if queues or rungs:
            more = await self._store.list_names(list(queues), list(rungs))
            self._names = ListScope(
                self._names.queues | more.queues, self._names.rungs | more.rungs
            )
        shown = [self._show(row) for row in rows]
        ids = [row.id for row, one in zip(rows, shown, strict=True) if one and may_name(one.queue)]
        named = await self._store.recipients_of(ids) if ids else {}
        return [
            replace(one, recipient=named[row.id]) if one and row.id in named else one
            for row, one in zip(rows, shown, strict=True)
        ]

    def _show(self, row: ListRow) -> ListedMessage | None:
        rung = self._names.rungs.get(row.owner) if row.shelf is Shelf.message else None
        name = self._names.queues.get(rung.queue if rung else row.owner)
        if name is None or (row.shelf is Shelf.message and rung is None):
            return None
        uncertain = rung is not None and rung.level < 0
        if row.id in self._in_flight and row.shelf in UNFINISHED and not uncertain:
            row, rung = replace(row, state=State.sending), None
        return shown(row, *name, rung)

    def _matches(self, message: ListedMessage) -> bool:
        which = self._which
        if which.state is not None and message.state is not which.state:
            return False
        if which.tenant not in (None, message.tenant):
            return False
        if not message.queue.startswith(which.prefix):
            return False
        if not self._compares:
            return True
        return (
            which.level in (None, message.level)
            and which.order_key in (None, message.order_key)
            and which.text.casefold() in message.error.casefold()
        )

    async def _to_recipient(self, low: int, high: int, limit: int) -> None:
        """The index of recipients names the messages; each is read where it is."""
        which = self._which
        while self.next is None:
            asked = (which.tenant, which.recipient, (low, high), COMPARED)
            ids = await self._store.listed_to(*asked, newest=which.newest)
            for number in ids:
                if len(self.messages) == limit or self.looked_at >= LOOKED_AT_MAX:
                    self.next = number
                    return
                request = ListRequest(self._shelves, None, (), number, number, which.newest, 2)
                found = await self._store.list_messages(request)
                self.looked_at += 1
                shown = await self._shown(found.rows)
                self.messages += [one for one in shown if one and self._in_scope(one)]
            if len(ids) < COMPARED:
                return
            low, high = (low, ids[-1] - 1) if which.newest else (ids[-1] + 1, high)

    async def _sending(self, low: int, high: int, limit: int) -> None:
        found = await self._store.list_rows([n for n in self._in_flight if low <= n <= high])
        self.looked_at = len(found.rows)
        rows = sorted(found.rows, key=lambda row: self._step * row.id)
        every = [one for one in await self._shown(rows) if one and self._in_scope(one)]
        self.messages = every[:limit]
        if len(every) > limit:
            self.next = to_number(every[limit - 1].id) + self._step

    def _in_scope(self, message: ListedMessage) -> bool:
        return self._which.queue in (None, message.queue) and self._matches(message)
