"""Messages: list and search them, and send finished ones again."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final, Literal, TypedDict, Unpack

from msgspec import Struct

from postroad.model.cursors import cursor, number_in, place_in
from postroad.model.dead import headers_of
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, NoBody, NotOnRabbitMQ
from postroad.model.ids import first_after, made_at_ms, to_number
from postroad.model.keyring import KeyRing
from postroad.model.listing import (
    LAST_ID,
    ListFilter,
    ListOrder,
    MessagePage,
    Shelf,
)
from postroad.model.private_headers import shown
from postroad.model.redaction import Redaction
from postroad.model.states import NEVER, State
from postroad.model.suppression import normal_recipient
from postroad.ports.broker import HasBroker
from postroad.ports.store import Store
from postroad.verbs.bounding import bounded
from postroad.verbs.event_bodies import shown_body
from postroad.verbs.message_search import Search
from postroad.verbs.paging import PAGE_MAX, check_page, span_ms
from postroad.verbs.send_again import (
    SendAgain,
    SendMany,
    SentAgain,
    check_key,
    check_sendable,
)

INDEX_EVERY_MS: Final = 10_000
"""A list waits for the index only when it is further behind: a slice takes a commit."""
INDEX_SLICES: Final = 10
"""Slices of the index that a list waits for."""
IN_BROKER: Final = "messages that wait in the broker and were not tried yet are not listed"
HERE: Final = "only tries of the process that answers are known"


class ListWhere(TypedDict, total=False):
    """Which messages: those to which all given options apply."""

    tenant: str | None
    """The owner of the queues; None is every tenant."""
    queue: str | None
    """The queue's name. One that ends in `*` is a prefix."""
    prefix: str | None
    """What the queue's name begins with."""
    state: str | None
    """waiting, held, sending, uncertain, delivered, cancelled or dead."""
    level: int | None
    """The retry level."""
    order_key: str | None
    recipient: str | None
    """A mail address or telephone number that messages name, as `mailto:ann@example.com`."""
    text: str | None
    """Contained in the last error, in upper or lower case."""
    since: datetime | None
    """Accepted at this time or later."""
    until: datetime | None
    """Accepted before this time."""


class MessageContent(Struct, frozen=True):
    """What was sent."""

    headers: dict[str, str]
    body: bytes


InFlight = Callable[[], Sequence[int]]
"""Tells which messages the engine of this process is trying now."""


@bounded
class Messages:
    """List and search messages, and send finished ones again."""

    def __init__(
        self,
        store: Store,
        in_flight: InFlight,
        ring: KeyRing,
        send_many: SendMany,
        redaction: Redaction | None = None,
    ) -> None:
        self._store = store
        self._redaction = redaction or Redaction()
        self._in_broker = isinstance(store, HasBroker)  # 10 µs to ask
        self._in_flight = in_flight
        self._again = SendAgain(store, ring, send_many, self._page)

    async def list(
        self,
        *,
        order: str = ListOrder.newest,
        limit: int = 100,
        after: str = "",
        **where: Unpack[ListWhere],
    ) -> MessagePage:
        """A page of messages in order of acceptance, `newest` or `oldest` first. Give its `after`
        for the next page."""
        check_page(limit, PAGE_MAX)
        return await self._page(list_filter(where, order), limit, after)

    async def _page(self, which: ListFilter, limit: int, after: str = "") -> MessagePage:
        """A page of the messages that a filter selects."""
        note = await self._note(which)
        low, high = first_after(which.since_ms), min(first_after(which.until_ms) - 1, LAST_ID)
        if after:
            start = number_in(place_in(after, which), after, 16)
            low, high = (low, min(high, start)) if which.newest else (max(low, start), high)
        if Shelf.history in which.shelves:
            await self._catch_up()
        in_flight = frozenset(self._in_flight())
        search = Search(self._store, which, in_flight, in_broker=self._in_broker)
        await search.run(low, high, limit)
        return MessagePage(
            messages=tuple(search.messages),
            after="" if search.next is None else cursor(f"{search.next:x}", which),
            unindexed=search.unindexed,
            looked_at=search.looked_at,
            searched_until_ms=None if search.next is None else made_at_ms(search.next),
            indexed_until_ms=await self._store.list_indexed_ms(),
            note=note,
        )

    async def send_again(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        key: str = "",
        count: int | None = None,
        dry_run: bool = False,
        **where: Unpack[ListWhere],
    ) -> SentAgain:
        """Send finished messages again, as new ones whose header `postroad-again-of` names the old
        one: those with `ids` in one transaction, or those that match, in slices. Their bodies must
        be stored: of dead ones they are, of delivered ones with `keep_bodies`. With a `key`, a
        repeated call sends nothing twice within a day."""
        steps = self.sending_again(ids, key=key, count=count, dry_run=dry_run, **where)
        return [said async for said in steps][-1]

    async def sending_again(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        key: str = "",
        count: int | None = None,
        dry_run: bool = False,
        **where: Unpack[ListWhere],
    ) -> AsyncIterator[SentAgain]:
        """As `send_again`, step by step: yields the counts so far."""
        check_key(key)
        narrowed = [name for name, value in where.items() if value is not None and name != "tenant"]
        if ids is not None:
            if narrowed or count is not None:
                raise BadInput(f"ids name the messages: leave out {', '.join(narrowed) or 'count'}")
            named = [ids] if isinstance(ids, str) else list(ids)
            tenant = where.get("tenant", DEFAULT_TENANT)
            yield await self._again.named(named, tenant, key, dry_run=dry_run)
            return
        if not narrowed and count is None:
            raise BadInput("say which: ids, count=…, or filters such as queue=, since=, until=")
        if count is not None and count < 1:
            raise BadInput(f"count={count}: give one or more")
        which, most = check_sendable(list_filter(where)), NEVER if count is None else count
        async for said in self._again.matching(which, most, key, dry_run=dry_run):
            yield said

    async def settle(
        self,
        outcome: Literal["sent", "unsent"],
        *,
        queue: str,
        tenant: str = DEFAULT_TENANT,
    ) -> int:
        """Settle all uncertain messages of a queue (one that ends in `*` is a prefix) as `sent` or
        `unsent`; returns how many. Those that are uncertain later are not touched."""
        if outcome not in ("sent", "unsent"):
            raise BadInput(f"{outcome!r}: messages are settled as 'sent' or as 'unsent'")
        now = datetime.fromtimestamp(self._store.clock.now_ms() / 1000 + 1, UTC)
        where = ListWhere(tenant=tenant, queue=queue, state=State.uncertain, until=now)
        which, after = list_filter(where), ""
        found: list[int] = []
        while True:
            page = await self._page(which, PAGE_MAX, after)
            found += [to_number(one.id) for one in page.messages]
            after = page.after
            if not after:
                break
        sent = outcome == "sent"
        return sum([await self._store.settle(tenant, number, sent=sent) for number in found])

    async def body(self, id: str, *, tenant: str | None = DEFAULT_TENANT) -> MessageContent:  # noqa: A002
        """The body and headers of a message that is unfinished, dead, or delivered and kept; of
        secret headers only the names, and without the fields that are redacted."""
        number = to_number(id)
        unfinished = await self._store.body_of_unfinished(number)
        found = [unfinished] if unfinished else await self._store.bodies([number])
        for stored in found:
            if tenant in (None, stored.tenant):
                body = await shown_body(self._store, self._redaction, stored)
                return MessageContent(shown(headers_of(stored.headers)), body)
        raise NoBody(
            f"no body of {id} is stored: see `postroad message show {id}` for what became of it"
        )

    async def _catch_up(self) -> None:
        """Bring the index of finished messages forward, a bounded number of slices."""
        if self._store.clock.now_ms() - await self._store.list_indexed_ms() < INDEX_EVERY_MS:
            return
        for _ in range(INDEX_SLICES):
            if await self._store.list_index(start=True) is None:
                return

    async def _note(self, which: ListFilter) -> str:
        if not self._in_broker:
            return HERE if which.state is State.sending else ""
        if which.state is State.waiting:
            said = await self._store.overview(which.tenant)
            raise NotOnRabbitMQ(
                f"state=waiting: these messages are in the broker, which counts but cannot list "
                f"them. {said.count(State.waiting)} are known to wait after a try or for their "
                "time; `postroad queues` counts all. List dead, uncertain, held or finished ones"
            )
        return "" if which.state in (State.dead, State.delivered) else IN_BROKER


def list_filter(where: ListWhere, order: str = ListOrder.newest) -> ListFilter:
    """Check the options of a list."""
    for name in where.keys() - ListWhere.__annotations__:
        near = get_close_matches(name, ListWhere.__annotations__, 1)
        known = near or sorted(ListWhere.__annotations__)
        raise BadInput(f"{name}= is no filter of messages: give {', '.join(known)}")
    state, level = where.get("state"), where.get("level")
    if state is not None and state not in set(State):
        raise BadInput(f"state={state!r}: one of {', '.join(State)}")
    if order not in set(ListOrder):
        raise BadInput(f"order={order!r}: 'newest' or 'oldest', by acceptance")
    if level is not None and (type(level) is not int or level < 0):
        raise BadInput(f"level={level!r}: give a retry level, 0 or more")
    queue, prefix = where.get("queue"), where.get("prefix") or ""
    if queue is not None and prefix:
        raise BadInput("queue= and prefix=: give one of them")
    if queue is not None and queue.endswith("*"):
        prefix, queue = queue[:-1], None
    since_ms, until_ms = span_ms(where.get("since"), where.get("until"))
    recipient = where.get("recipient")
    which = ListFilter(
        tenant=where.get("tenant", DEFAULT_TENANT),
        queue=queue,
        prefix=prefix,
        state=None if state is None else State(state),
        level=level,
        order_key=where.get("order_key"),
        text=where.get("text") or "",
        since_ms=since_ms,
        until_ms=until_ms,
        order=ListOrder(order),
        recipient=normal_recipient(recipient) if recipient else "",
    )
    if not which.shelves:
        raise BadInput(
            f"order_key= with state={state}: finished messages are stored without their order "
            "keys; leave one of them out"
        )
    return which
