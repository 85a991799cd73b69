"""Bodies of events, which their messages share: read once for all endpoints, and kept for a while
in memory."""

import asyncio
from collections import OrderedDict
from typing import Final

from msgspec.structs import replace

from postroad.model.entities import Message
from postroad.model.event import event_id, own_headers, referred
from postroad.model.ids import to_text
from postroad.ports.events import EventStore
from postroad.transports.webhook.shapes import Origin

BYTES_MAX: Final = 16 << 20
"""Bodies in memory; an event's messages mostly go within seconds of each other."""


Place = tuple[str, bytes]
"""A tenant, and the headers of a message of it."""
Content = tuple[bytes, bytes, Origin]
"""A body, the headers that are left without the reference, and what the event is."""


class EventBodies:
    """Caches the bodies of the events that are being sent, by tenant and by the headers that name
    them: those of all messages of one publish are alike."""

    def __init__(self, store: object) -> None:
        self._store = store if isinstance(store, EventStore) else None
        self._known: OrderedDict[Place, Content] = OrderedDict()
        self._bytes = 0
        self._asked: dict[Place, asyncio.Task[Content | None]] = {}

    def origin(self, tenant: str, message: Message) -> Origin:
        """Return what a message is that `whole` was asked for a moment ago, or that has a body of
        its own."""
        found = self._known.get((tenant, message.headers))
        return found[2] if found else Origin(to_text(message.id))

    async def whole(self, tenant: str, message: Message) -> Message | None:
        """Return a message with the body of its event, and without the reference; None when its
        tenant has no such event, or not any more."""
        place = (tenant, message.headers)
        found = self._known.get(place)
        if found is None:
            found = await self._ask(place)
        if found is None:
            return None
        return replace(message, body=found[0], headers=found[1])

    async def _ask(self, place: Place) -> Content | None:
        """Read a body. Those who ask meanwhile wait for the same answer."""
        task = self._asked.get(place)
        if task is None:
            task = self._asked[place] = asyncio.create_task(self._read(place))
            task.add_done_callback(lambda _: self._asked.pop(place, None))
        return await asyncio.shield(task)

    async def _read(self, place: Place) -> Content | None:
        tenant, headers = place
        number = referred(headers)
        if number is None or self._store is None:
            return None
        event = await self._store.event(tenant, number)
        if event is None:
            return None
        origin = Origin(event_id(event.id), event.type, event.made_at_ms)
        found = self._known[place] = event.body, own_headers(headers), origin
        self._bytes += len(event.body)
        while self._bytes > BYTES_MAX and len(self._known) > 1:
            self._bytes -= len(self._known.popitem(last=False)[1][0])
        return found
