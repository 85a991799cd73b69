"""The part of a store that events need."""

from typing import Final

from postroad.model.errors import NotOnRabbitMQ
from postroad.ports.events import EventStore
from postroad.ports.store import Store

NO_EVENTS: Final = (
    "endpoints and events: a broker cannot store an event and its messages in one transaction. Use "
    "a road on PostgreSQL or SQLite, or send to URLs"
)


def event_store(store: Store) -> EventStore:
    """The store's part for events, or NotOnRabbitMQ."""
    if not isinstance(store, EventStore):
        raise NotOnRabbitMQ(NO_EVENTS)
    return store
