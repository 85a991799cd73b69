"""Lists of messages: filters, rows, pages and cursors."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, Self

from msgspec import Struct

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.ids import to_text
from postroad.model.states import NEVER, DeadReason, State

LAST_ID: Final = (1 << 63) - 1


class ListOrder(StrEnum):
    """Which end of a list comes first, by acceptance."""

    newest = "newest"
    oldest = "oldest"


class Shelf(StrEnum):
    """Where the store keeps a message."""

    message = "message"
    """Unfinished."""
    broker = "broker"
    """Unfinished, in a broker; the state store knows something about it."""
    dead = "dead"
    history = "history"


STATES: Final = {str(state): state for state in State}
"""To look one up costs a third of `State(text)`."""
SHELVES: Final[dict[State, tuple[Shelf, ...]]] = {
    State.waiting: (Shelf.message, Shelf.broker),
    State.held: (Shelf.message, Shelf.broker),
    State.sending: (Shelf.message, Shelf.broker),
    State.uncertain: (Shelf.message,),
    State.dead: (Shelf.dead,),
    State.delivered: (Shelf.history,),
    State.cancelled: (Shelf.history,),
}


class ListFilter(Struct, frozen=True):
    """Selects messages: all that is given must hold. Tenant None is every tenant."""

    tenant: str | None = DEFAULT_TENANT
    queue: str | None = None
    prefix: str = ""
    """What the queue's name begins with."""
    state: State | None = None
    level: int | None = None
    order_key: str | None = None
    text: str = ""
    """Contained in the last error, in upper or lower case."""
    since_ms: int = 0
    """Accepted at this time or later."""
    until_ms: int = NEVER
    """Accepted before this time."""
    order: ListOrder = ListOrder.newest
    recipient: str = ""
    """That the message names."""

    @property
    def newest(self) -> bool:
        """Whether the list goes backwards in time."""
        return self.order is ListOrder.newest

    @property
    def shelves(self) -> tuple[Shelf, ...]:
        """Where such messages are."""
        found = SHELVES[self.state] if self.state else tuple(Shelf)
        if self.order_key is not None:  # history does not have it
            found = tuple(shelf for shelf in found if shelf is not Shelf.history)
        return found

    @property
    def unindexed(self) -> tuple[str, ...]:
        """The filters that are compared row by row, because no index has them."""
        given = {"text": bool(self.text), "order_key": self.order_key is not None}
        given["level"] = self.level is not None
        given["state"] = self.state in (State.cancelled, State.sending)
        return tuple(name for name, used in given.items() if used)


class RungFacts(Struct, frozen=True):
    """What is the same for all messages of a rung. `because`: what holds them; "" is nothing."""

    id: int
    queue: int
    level: int
    priority: int
    order_group: int
    because: str


class ListScope(Struct, frozen=True):
    """Queues by number, with tenant and name, and their rungs."""

    queues: dict[int, tuple[str, str]]
    rungs: dict[int, RungFacts]

    @classmethod
    def of(
        cls,
        queues: Iterable[tuple[int, str, str]],
        rungs: Iterable[tuple[int, int, int, int, int, str]],
    ) -> Self:
        """Make them from rows: number, tenant and name of queues, and the facts of rungs."""
        facts = [RungFacts(*row) for row in rungs]
        return cls(
            {number: (tenant, name) for number, tenant, name in queues},
            {rung.id: rung for rung in facts},
        )


class ListRequest(Struct, frozen=True):
    """What a store is to look for: ids from `low` to `high` on some shelves. Without queues it
    walks over all of them."""

    shelves: tuple[Shelf, ...]
    queues: tuple[int, ...] | None
    rungs: tuple[int, ...]
    low: int
    high: int
    newest: bool
    limit: int


class ListRow(Struct, frozen=True, gc=False):
    """A message as a store found it. `owner` is its queue, or its rung while it is unfinished."""

    id: int
    owner: int
    shelf: Shelf
    state: State
    because: str
    accepted_at_ms: int
    due_ms: int
    finished_at_ms: int
    level: int
    attempts: int
    order_key: str
    error: str


class FoundRows(Struct, frozen=True):
    """Rows in order. `until`: all ids from the start of the request to there were searched; None is
    its end."""

    rows: list[ListRow]
    until: int | None


class ListedMessage(Struct, frozen=True, gc=False):
    """A message in a list, without its body."""

    id: str
    tenant: str
    queue: str
    state: State
    because: str
    """What holds it; never empty when it is held."""
    reason: DeadReason | None
    """Why a dead message died."""
    level: int
    attempts: int
    order_key: str
    accepted_at_ms: int
    due_ms: int | None
    """When an unfinished message is due."""
    finished_at_ms: int | None
    error: str
    """The error of the last try that failed."""
    recipient: str = ""
    """Whom the message itself names."""


class MessagePage(Struct, frozen=True):
    """A page of messages. `after` is for the next page; "" is the end."""

    messages: tuple[ListedMessage, ...]
    after: str = ""
    unindexed: tuple[str, ...] = ()
    """The filters that no index serves: they were compared message by message."""
    looked_at: int = 0
    """How many messages were looked at for this page. It ends at a limit, full or not."""
    searched_until_ms: int | None = None
    """A page that is not the last one has all that match from its start to this acceptance
    time."""
    indexed_until_ms: int = 0
    """Until which acceptance time finished messages are in the index by queue. Later ones are
    searched one by one."""
    note: str = ""
    """What this list cannot know."""


def gather(rows: Iterable[ListRow], bounds: Iterable[int], request: ListRequest) -> FoundRows:
    """Merge the sorted rows of several sources. Each gave its first `limit` rows, so behind the
    last row of a full source, or behind a bound, others may be missing."""
    newest, limit = request.newest, request.limit
    by_shelf: dict[Shelf, dict[int, ListRow]] = {}
    for row in rows:
        by_shelf.setdefault(row.shelf, {})[row.id] = row
    full = [sorted(ids, reverse=newest) for ids in by_shelf.values() if len(ids) >= limit]
    edges = [*bounds, *(ids[limit - 1] for ids in full)]
    every = {number: row for found in by_shelf.values() for number, row in found.items()}
    if not edges:
        return FoundRows([every[number] for number in sorted(every, reverse=newest)], None)
    until = max(edges) if newest else min(edges)
    kept = [number for number in every if (number >= until if newest else number <= until)]
    last = until <= request.low if newest else until >= request.high
    ordered = [every[number] for number in sorted(kept, reverse=newest)]
    return FoundRows(ordered, None if last else until)


def shown(row: ListRow, tenant: str, queue: str, rung: RungFacts | None) -> ListedMessage:
    """Return a row as people see it. `rung` is that of an unfinished message."""
    state, because = row.state, row.because
    if rung is not None and rung.level < 0:
        state, because = State.uncertain, ""
    elif rung is not None and state is State.waiting and rung.because:
        state, because = State.held, rung.because
    dead = row.shelf is Shelf.dead
    return ListedMessage(  # by place: a page has hundreds, and names cost 1 µs each
        to_text(row.id),
        tenant,
        queue,
        state,
        "" if dead else because,
        DeadReason(because) if dead else None,
        row.level,
        row.attempts,
        row.order_key,
        row.accepted_at_ms,
        row.due_ms or None,
        row.finished_at_ms or None,
        row.error,
    )
