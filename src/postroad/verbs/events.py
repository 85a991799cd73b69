"""Events: published once, stored once, sent to every endpoint that matches."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from postroad.model.bodies import check_json, encode_body, read_body, read_if_json
from postroad.model.endpoint import OPERATOR, check_channels, check_type
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import (
    BadBody,
    BadInput,
    BodyTooLarge,
    Conflict,
    EventTypeArchived,
    Overloaded,
    UnknownEvent,
    UnknownEventType,
)
from postroad.model.event import (
    TEST_CHANNEL,
    EventArrival,
    EventRow,
    EventTarget,
    Publish,
    Published,
    digest_of,
    event_id,
    event_number,
    message_ids,
    reference,
)
from postroad.model.matching import Matcher
from postroad.model.near_names import nearest
from postroad.model.redaction import Redaction
from postroad.model.states import NEVER
from postroad.model.texts import checked
from postroad.observe import tracing
from postroad.ports.events import EventArrivals
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.verbs.allowance import Allowance
from postroad.verbs.bounding import bounded
from postroad.verbs.event_arrivals import EventMover
from postroad.verbs.event_schemas import mismatch
from postroad.verbs.event_stores import event_store
from postroad.verbs.event_types import Catalogue
from postroad.verbs.known_queues import check_names
from postroad.verbs.paging import check_page
from postroad.verbs.sending import Sending

TENANTS_KNOWN_MAX: Final = 1_000
"""Tenants whose endpoints are kept compiled."""
AGAIN_MAX: Final = 20
"""How often an event is matched again because endpoints were changed meanwhile."""


StoreIt = Callable[[Publish], Awaitable[Published]]


class EventReceipt(Struct, frozen=True):
    """A receipt: the event is stored, and a message for each endpoint that it matched. `duplicate`:
    it was stored before, under the same key."""

    id: str
    type: str
    messages: tuple[str, ...] = ()
    """The messages' ids; none when no endpoint matched."""
    duplicate: bool = False
    problems: tuple[str, ...] = ()
    """How the body does not fit the schema of its type, which only warns."""


class EventFacts(Struct, frozen=True):
    """An event, and the messages that carry it."""

    id: str
    type: str
    channels: tuple[str, ...]
    made_at_ms: int
    messages: tuple[str, ...]


class EventContent(EventFacts, frozen=True):
    """An event with its body."""

    body: bytes


class EventPage(Struct, frozen=True):
    """A page of events, the newest first. `after` is for the next page; "" is the end."""

    events: tuple[EventFacts, ...]
    after: str = ""


class UnmatchedEvents(Struct, frozen=True):
    """The kept events of a type that no endpoint matched."""

    type: str
    count: int
    last: str
    """The id of the last one."""


class Unmatched(Struct, frozen=True):
    """The kept events of a tenant that no endpoint matched, by type."""

    types: tuple[UnmatchedEvents, ...]


class Asked(Struct, frozen=True):
    """A publish before it is matched."""

    tenant: str
    type: str
    body: bytes
    channels: tuple[str, ...]
    key: str
    parsed: Callable[[], object]
    """The body as plain data, read once and only if a schema or a filter needs it."""


@bounded
class EventVerbs:
    """Publish events, and see what became of them."""

    def __init__(
        self,
        store: Store,
        sending: Sending,
        allowance: Allowance,
        log: Log,
        redaction: Redaction | None = None,
    ) -> None:
        self._store = store
        self._redaction = redaction or Redaction()
        self._sending = sending
        self._allowance = allowance
        self._matchers: dict[str, Matcher] = {}
        self._catalogue: Catalogue | None = None
        self.mover = EventMover(store, self._move_arrival, log)

    async def publish(
        self,
        type: str,  # noqa: A002 - the word of the trade
        body: object,
        *,
        tenant: str = DEFAULT_TENANT,
        key: str | None = None,
        channels: Sequence[str] = (),
    ) -> EventReceipt:
        """Send an event to every enabled endpoint of a tenant whose types, channels and filter
        match. The event and its messages are stored when this answers; within a day the same `key`
        and body give the first receipt again."""
        self._check_open_to(tenant)
        asked = self._asked(type, body, tenant, key, channels)
        self._allowance.sends((tenant,))
        if not tracing.active():
            return await self._publish(asked, {})
        with tracing.sending(1) as carried:
            return await self._publish(asked, carried)

    async def publish_in(
        self,
        connection: object,
        type: str,  # noqa: A002
        body: object,
        *,
        tenant: str = DEFAULT_TENANT,
        key: str | None = None,
        channels: Sequence[str] = (),
    ) -> EventReceipt:
        """Publish inside your own open transaction: the event is stored if that commits. On
        PostgreSQL it is matched after the commit, and the receipt does not name its messages."""
        self._check_open_to(tenant)
        asked = self._asked(type, body, tenant, key, channels)
        self._allowance.sends((tenant,))
        return await self._publish(asked, {}, partial(self._store_in, connection))

    async def list(
        self, *, limit: int = 100, after: str = "", tenant: str = DEFAULT_TENANT
    ) -> EventPage:
        """A page of a tenant's events, the newest first."""
        check_page(limit)
        before = event_number(after) if after else NEVER
        rows = await event_store(self._store).event_page(tenant, before, limit + 1)
        shown = tuple(EventFacts(*_facts(row)) for row in rows[:limit])
        return EventPage(shown, shown[-1].id if len(rows) > limit else "")

    async def unmatched(self, *, tenant: str = DEFAULT_TENANT) -> Unmatched:
        """How many of a tenant's kept events no endpoint matched, by type."""
        found = await event_store(self._store).events_unmatched(tenant)
        return Unmatched(tuple(UnmatchedEvents(k, n, event_id(last)) for k, n, last in found))

    async def get(self, id: str, *, tenant: str = DEFAULT_TENANT) -> EventContent:  # noqa: A002
        """An event with its body, without the fields that are redacted."""
        row = await event_store(self._store).event(tenant, event_number(id))
        if row is None:
            raise UnknownEvent(f"there is no event {id} of tenant {tenant!r}")
        return EventContent(*_facts(row), self._redaction.body(row.type, row.body))

    async def _store_in(self, connection: object, publish: Publish) -> Published:
        said = await event_store(self._store).publish_in(connection, publish)
        return said or Published(False, publish.event.id)

    async def _move_arrival(self, arrival: EventArrival, *, match: bool = True) -> Published | None:
        """Match an event that was published inside a caller's transaction, and publish it; None:
        another process does. One that is not to be matched is stored for replays."""
        store = self._store
        if not isinstance(store, EventArrivals):
            return None
        channels = msgspec.json.decode(arrival.channels, type=tuple[str, ...])
        parsed = cache(partial(read_if_json, arrival.body))
        about = (arrival.tenant, arrival.type, arrival.body, channels, arrival.key, parsed)
        while True:
            asked, catalogue = Asked(*about), await self._types()
            if match:
                versions, targets = await self._matched(asked, catalogue)
            else:
                found = await event_store(self._store).endpoint_set(arrival.tenant)
                versions, targets = (found.version, catalogue.version), ()
            publish = self._made(asked, targets, {}, versions)
            event = replace(publish.event, id=arrival.id, made_at_ms=arrival.made_at_ms)
            headers, digest = arrival.headers, arrival.digest
            publish = replace(publish, event=event, headers=headers, digest=digest)
            said = await store.publish_arrival(arrival.number, publish)
            if said is None or not said.moved:
                return said
            self._forget(arrival.tenant)

    def _check_open_to(self, tenant: str) -> None:
        """Refuse what is published while the road is not open, or to the operator."""
        _ = self._sending.taking()  # whether it is open
        if tenant == OPERATOR:
            raise BadInput(
                f"tenant {OPERATOR!r} gets operational events, which the road publishes itself: "
                "publish to another tenant"
            )

    def _asked(
        self, name: str, body: object, tenant: str, key: str | None, channels: Sequence[str]
    ) -> Asked:
        check_names("event", tenant)
        if isinstance(body, bytes):
            raise BadBody("the body of an event is JSON: give plain data, not bytes")
        written = encode_body(body)
        if isinstance(body, Raw):
            check_json(written)
        if len(written) > (most := self._allowance.body_bytes_max):
            raise BodyTooLarge(
                f"the body has {len(written)} bytes, the limit is {most}: send a reference to it, "
                "or raise body_bytes_max"
            )
        if key == "":
            raise BadInput("key is empty: give one, or leave it out")
        listed = check_channels(tuple(channels))
        if TEST_CHANNEL in listed:
            raise BadInput(f"channel {TEST_CHANNEL!r} marks test events: use another name")
        parsed = cache(partial(read_body, written))
        return Asked(tenant, check_type(name), written, listed, checked("key", key or ""), parsed)

    async def _publish(
        self, asked: Asked, carried: Mapping[str, str], store_it: "StoreIt | None" = None
    ) -> EventReceipt:
        store_it = store_it or event_store(self._store).publish
        for _ in range(AGAIN_MAX):
            catalogue, problems = await self._judged(asked)
            versions, targets = await self._matched(asked, catalogue)
            publish = self._made(asked, targets, carried, versions)
            said = await store_it(publish)
            if not said.moved:
                return _receipt(asked, publish, said, problems)
            self._forget(asked.tenant)
        raise Overloaded(
            f"the endpoints of tenant {asked.tenant!r} change all the time: nothing was stored; "
            "publish it again"
        )

    async def _judged(self, asked: Asked) -> tuple[Catalogue, tuple[str, ...]]:
        """The event types, and what is wrong with a body. Nothing is refused by types that have
        changed since this process read them."""
        catalogue = await self._types()
        try:
            return catalogue, problems_of(catalogue, asked)
        except BadInput:
            if catalogue.version == await event_store(self._store).event_types_version():
                raise
        self._catalogue = None
        catalogue = await self._types()
        return catalogue, problems_of(catalogue, asked)

    async def _types(self) -> Catalogue:
        if self._catalogue is None:
            self._catalogue = Catalogue(await event_store(self._store).event_types())
        return self._catalogue

    async def _matched(
        self, asked: Asked, catalogue: Catalogue
    ) -> tuple[tuple[int, int], tuple[EventTarget, ...]]:
        """The endpoints that get an event, and the versions of the sets that say so."""
        matcher, now_ms = await self._matcher(asked.tenant), self._store.clock.now_ms()
        targets = matcher.match(asked.type, frozenset(asked.channels), asked.parsed, now_ms)
        return (matcher.version, catalogue.version), targets

    def _forget(self, tenant: str) -> None:
        """A set has changed: read it again."""
        self._matchers.pop(tenant, None)
        self._catalogue = None

    async def _matcher(self, tenant: str) -> Matcher:
        known = self._matchers.get(tenant)
        if known is None:
            known = Matcher(await event_store(self._store).endpoint_set(tenant))
            if len(self._matchers) >= TENANTS_KNOWN_MAX:
                self._matchers.clear()  # those that are in use are soon known again
            self._matchers[tenant] = known
        return known

    def _made(
        self,
        asked: Asked,
        targets: tuple[EventTarget, ...],
        carried: Mapping[str, str],
        versions: tuple[int, int],
    ) -> Publish:
        now_ms, ids = self._store.clock.now_ms(), self._sending.ids
        # In one go, so that they follow each other.
        number, *numbers = (ids.next(now_ms) for _ in range(len(targets) + 1))
        first, last = (numbers[0], numbers[-1]) if numbers else (0, 0)
        channels = msgspec.json.encode(asked.channels)
        about = (number, asked.tenant, asked.type, asked.body, channels, now_ms)
        event = EventRow(*about, first, last, len(targets))
        digest = digest_of(asked.type, asked.body, channels) if asked.key else b""
        return Publish(event, targets, reference(number, carried), *versions, asked.key, digest)


def problems_of(catalogue: Catalogue, asked: Asked) -> tuple[str, ...]:
    """What is wrong with a body that may be published all the same."""
    if not catalogue.types:
        return ()
    kind = catalogue.types.get(asked.type)
    if kind is None:
        near = nearest(asked.type, list(catalogue.types))
        raise UnknownEventType(f"this road has no event type {asked.type!r}{near}")
    if kind.archived:
        raise EventTypeArchived(f"the event type {asked.type!r} is archived: nothing was stored")
    check = catalogue.check(kind)
    problems = check(asked.parsed()) if check else ()
    if problems and not kind.warn:
        raise mismatch(asked.type, problems)
    return problems


def _receipt(
    asked: Asked, publish: Publish, said: Published, problems: tuple[str, ...]
) -> EventReceipt:
    if said.digest and said.digest != publish.digest:
        raise Conflict(
            f"key {asked.key!r} was used within a day for another event: it is "
            f"{event_id(said.id)}; use a new key for a new event"
        )
    messages = message_ids(said.first, said.matched)
    return EventReceipt(event_id(said.id), asked.type, messages, bool(said.digest), problems)


def _facts(row: EventRow) -> tuple[str, str, tuple[str, ...], int, tuple[str, ...]]:
    channels = msgspec.json.decode(row.channels, type=tuple[str, ...])
    messages = message_ids(row.first, row.matched)
    return event_id(row.id), row.type, channels, row.made_at_ms, messages
