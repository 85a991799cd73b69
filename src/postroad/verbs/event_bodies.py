"""Bodies of messages that carry an event: found by the reference in their headers."""

from collections.abc import Sequence

from msgspec.structs import replace

from postroad.model.event import own_headers, referred
from postroad.model.redaction import Redaction
from postroad.ports.bodies import StoredBody
from postroad.ports.events import EventStore
from postroad.ports.store import Store


async def body_of(store: Store, headers: bytes, body: bytes) -> bytes:
    """Return a message's body: its own, or that of its event."""
    number = referred(headers)
    if number is None or not isinstance(store, EventStore):
        return body
    event = await store.event(None, number)
    return event.body if event else body


async def shown_body(
    store: Store, redaction: Redaction, queue: str, headers: bytes, body: bytes
) -> bytes:
    """Return a message's body as it may be shown, by its queue and the type of its event."""
    number = referred(headers)
    if number is not None and isinstance(store, EventStore):
        event = await store.event(None, number)
        body = redaction.body(event.type, event.body) if event else body
    return redaction.body(queue, body)


async def with_bodies(store: Store, found: Sequence[StoredBody]) -> list[StoredBody]:
    """Return messages with the bodies of their events, and without the references."""
    return [
        each
        if referred(each.headers) is None
        else replace(
            each,
            headers=own_headers(each.headers),
            body=await body_of(store, each.headers, each.body),
        )
        for each in found
    ]
