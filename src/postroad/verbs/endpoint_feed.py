"""Feeds: endpoints that are read instead of called, message by message under a lease, and acked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from postroad.model.decide import Move
from postroad.model.durations import Duration, seconds_of
from postroad.model.endpoint import ENABLED, FEED, EndpointEntry, endpoint_id, queue_name
from postroad.model.endpoint_life import HOUR_MS, WIDTH, EndpointHour
from postroad.model.entities import Message, order_group_of
from postroad.model.errors import BadInput, Conflict, NotOnRabbitMQ, Overloaded, StoreError
from postroad.model.ids import to_number, to_text
from postroad.model.outcome import Kind
from postroad.model.record import Look, Record, Result, Retention, Want
from postroad.model.states import NEVER
from postroad.observe.figures import PLACE, FigureGatherer
from postroad.ports.feeds import FeedStore
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.transports.webhook.transport import WebhookTransport
from postroad.verbs.event_stores import event_store
from postroad.verbs.feed_messages import FeedMessage, shown_message
from postroad.verbs.waits import Waits

WAIT_S_MAX: Final = 40.0
LEASE_S: Final = 60.0
LEASE_S_MAX: Final = 3_600.0
READ_MAX: Final = 1_000
READ_BYTES_MAX: Final = 4 << 20
"""Bytes of bodies in one answer; a single larger one comes alone."""
ENDPOINT_READERS_MAX: Final = 10
DEAF_S: Final = 5.0
"""How often a waiting read looks while no bell is heard."""

Find = Callable[[], Awaitable[EndpointEntry]]


class FeedPage(Struct, frozen=True):
    """Messages of a feed in order. Those that are not acked by the end of the lease come again."""

    messages: tuple[FeedMessage, ...] = ()
    lease_ends_at_ms: int | None = None


class FeedAck(Struct, frozen=True):
    """What became of acks."""

    acked: int
    others: tuple[str, ...] = ()
    """Ids that wait for no ack here: acked before, cancelled, dead, or never read."""


class Due(Struct, frozen=True):
    """What can be read now, and when there is more."""

    messages: list[Message]
    next_at_ms: int


class EndpointFeeds:
    """Reads and acks messages of endpoints that are not called. They lie in the endpoint's queue,
    whose lane no process claims; a read is a try, an ack its success."""

    def __init__(self, store: Store, transport: WebhookTransport, log: Log) -> None:
        self._store = store
        self._transport = transport
        self._log = log
        self._figures = FigureGatherer(store, store.clock, log)
        self._waits = Waits("reads of feeds")

    async def read(self, find: Find, most: int, wait: Duration, lease: Duration) -> FeedPage:
        """Lease the next messages; waits for the first one."""
        wait_s, lease_s = seconds_of(wait), seconds_of(lease)
        if not 1 <= most <= READ_MAX:
            raise BadInput(f"max={most!r}: from 1 to {READ_MAX} messages")
        if not 0 <= wait_s <= WAIT_S_MAX:
            raise BadInput(f"wait={wait!r}: give seconds or a timedelta, at most {WAIT_S_MAX:g} s")
        if not 1 <= lease_s <= LEASE_S_MAX:
            raise BadInput(f"lease={lease!r}: give seconds or a timedelta, from 1 s to an hour")
        until_s = self._store.clock.steady_s() + wait_s
        while True:
            entry = _readable(await find())
            async with self._listening(entry) as rung:
                due = await self._due(entry, most)
                page = await self._leased(entry, due.messages, int(lease_s * 1000))
                if page.messages or self._store.clock.steady_s() >= until_s:
                    return page
                if not due.messages:
                    await self._rest(rung, until_s, due.next_at_ms)

    async def ack(self, entry: EndpointEntry, ids: Sequence[str]) -> FeedAck:
        """Count messages as delivered that were read."""
        _ = _pulled(entry)  # whether it is read at all
        if not 1 <= len(ids) <= READ_MAX:
            raise BadInput(f"ids: give 1 to {READ_MAX} ids of messages")
        numbers = dict.fromkeys(to_number(each) for each in ids)
        row, now_ms = entry.row, self._store.clock.now_ms()
        found = await self._feeds().feed_leased(row.queue, list(numbers))
        if found:
            results = [_delivered(entry, one, now_ms) for one in found]
            _ = await self._store.record(Record(0, results, [], []))  # a success always counts
            await self._count(entry, len(found), now_ms)
        known = {one.id for one in found}
        others = tuple(to_text(number) for number in numbers if number not in known)
        return FeedAck(len(found), others)

    # The rest

    def _feeds(self) -> FeedStore:
        if not isinstance(self._store, FeedStore):
            raise NotOnRabbitMQ("feeds: a road on RabbitMQ has no endpoints that are read")
        return self._store

    @asynccontextmanager
    async def _listening(self, entry: EndpointEntry) -> AsyncIterator[asyncio.Event]:
        """Hear of messages from before the first look on, so that none is missed between."""
        readers, rung, lane = self._store.bell.readers, asyncio.Event(), entry.lane
        here = readers.get(lane, set())
        if len(here) >= ENDPOINT_READERS_MAX:
            raise Overloaded("too many reads of this feed wait already: let one of them end first")
        with self._waits.one(entry.row.tenant):
            readers.setdefault(lane, here).add(rung)
            try:
                yield rung
            finally:
                here.discard(rung)
                if not here:
                    readers.pop(lane, None)

    async def _rest(self, rung: asyncio.Event, until_s: float, next_at_ms: int) -> None:
        """Wait for the bell, for the end of a lease, or until the reader has waited enough."""
        clock = self._store.clock
        rest_ms = int((until_s - clock.steady_s()) * 1000)
        rest_ms = min(rest_ms, next_at_ms - clock.now_ms())
        if not self._store.bell.alive:
            rest_ms = min(rest_ms, int(DEAF_S * 1000))
        timer = clock.later(max(1, rest_ms + 1), rung.set)
        try:
            _ = await rung.wait()  # it is set
        finally:
            timer.cancel()

    async def _due(self, entry: EndpointEntry, most: int) -> Due:
        """The messages that are due, in order. Of an order group whose head is leased, none."""
        (view,) = await self._store.look([Look(entry.lane, -1)])
        wants = [Want(rung.id, -NEVER, 0, most) for rung in view.rungs]
        readings = await self._store.fetch(wants) if wants else []
        found = [each for reading in readings for each in reading.messages]
        found.sort(key=lambda message: (message.place, message.id))
        next_ms = min((each.next_due_ms for each in readings), default=NEVER)
        return Due(found[:most], min(next_ms, view.next_at_ms))

    async def _leased(
        self, entry: EndpointEntry, messages: list[Message], lease_ms: int
    ) -> FeedPage:
        """Lease as many as an answer holds. Another reader may have been faster."""
        if not messages:
            return FeedPage()
        endpoint = await self._transport.endpoints.ask(entry.row.queue)
        now_ms = self._store.clock.now_ms()
        shown, size = dict[int, FeedMessage](), 0
        for message in messages:
            whose = (entry.row.tenant, endpoint, self._transport)
            one, length = await shown_message(message, *whose, now_ms)
            if shown and size + length > READ_BYTES_MAX:
                break
            shown[message.id], size = one, size + length
        queue, whole = entry.row.queue, entry.policy.ordered
        ours = await self._feeds().feed_lease(queue, list(shown), lease_ms, whole=whole)
        told = tuple(one for number, one in shown.items() if number in ours)
        return FeedPage(told, now_ms + lease_ms) if told else FeedPage()

    async def _count(self, entry: EndpointEntry, count: int, now_ms: int) -> None:
        """Add to the figures of the endpoint and of the fleet."""
        row, counts = entry.row, [0] * WIDTH
        counts[PLACE[Kind.delivered]] = count
        hour_ms = now_ms // HOUR_MS * HOUR_MS
        hour = EndpointHour(row.queue, hour_ms, tuple(counts), True, 0, 0, "")
        self._figures.turn()
        name = (row.tenant, FEED, queue_name(row.id))
        self._figures.add(name, Kind.delivered, count=count)
        try:
            await event_store(self._store).endpoint_count([hour])
        except StoreError as error:  # they are acked all the same
            self._log.store_failed("count acks", error)
        await self._figures.end()


def _pulled(entry: EndpointEntry) -> EndpointEntry:
    """An endpoint that is read; another one is called."""
    if not entry.row.url:
        return entry
    raise Conflict(
        f"{endpoint_id(entry.row.id)} has a URL, where its messages are sent to: make an endpoint "
        "with pull=True to read them"
    )


def _readable(entry: EndpointEntry) -> EndpointEntry:
    """An endpoint that can be read now."""
    if _pulled(entry).row.life.state == ENABLED:
        return entry
    state, reason = entry.row.life.state, entry.row.life.reason
    why = f" ({reason})" if reason else ""
    raise Conflict(f"{endpoint_id(entry.row.id)} is {state}{why}: what it gets is held")


def _delivered(entry: EndpointEntry, message: Message, now_ms: int) -> Result:
    """The success that an ack is. Nobody owns the lane, so it has no epoch."""
    policy = entry.policy
    about = (Kind.delivered, Move.deliver, message.level, 0, None, "", 0, now_ms, 0)
    return Result(
        message,
        0,
        *about,
        order_group=order_group_of(policy, ""),
        keep=Retention(policy.keep_bodies_ms) if policy.keep_bodies_ms else None,
    )
