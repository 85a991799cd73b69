"""Bodies of messages that carry an event: found by the reference in their headers."""

from collections.abc import Sequence

from msgspec.structs import replace

from postroad.model.event import EventRow, own_headers, referred
from postroad.model.redaction import Redaction
from postroad.ports.bodies import StoredBody
from postroad.ports.events import EventStore
from postroad.ports.store import Store


async def shown_body(store: Store, redaction: Redaction, stored: StoredBody) -> bytes:
    """Return a message's body as it may be shown, by its queue and the type of its event."""
    event, body = await _event_of(store, stored), stored.body
    if event is not None:
        body = redaction.body(event.type, event.body)
    return redaction.body(stored.queue, body)


async def with_bodies(store: Store, found: Sequence[StoredBody]) -> list[StoredBody]:
    """Return messages with the bodies of their events, and without the references."""
    return [
        each if referred(each.headers) is None else await _with_body(store, each) for each in found
    ]


async def _with_body(store: Store, stored: StoredBody) -> StoredBody:
    event = await _event_of(store, stored)
    body = stored.body if event is None else event.body
    return replace(stored, headers=own_headers(stored.headers), body=body)


async def _event_of(store: Store, stored: StoredBody) -> EventRow | None:
    """The event that a message carries: one of its own tenant, whatever its headers say."""
    number = referred(stored.headers)
    if number is None or not isinstance(store, EventStore):
        return None
    return await store.event(stored.tenant, number)
