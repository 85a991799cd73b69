"""Bodies of events, which their messages share: read once for all endpoints, and kept for a while
in memory."""

import asyncio
from collections import OrderedDict
from typing import Final

from msgspec.structs import replace

from postroad.model.entities import Message
from postroad.model.errors import StoreError
from postroad.model.event import own_headers, referred
from postroad.ports.events import EventStore

BYTES_MAX: Final = 16 << 20
"""Bodies in memory; an event's messages mostly go within seconds of each other."""


class EventBodies:
    """Caches the bodies of the events that are being sent."""

    def __init__(self, store: object) -> None:
        self._store = store if isinstance(store, EventStore) else None
        self._known: OrderedDict[int, bytes] = OrderedDict()
        self._bytes = 0
        self._asked: dict[int, asyncio.Task[bytes | None]] = {}

    async def whole(self, message: Message) -> Message | None:
        """Return a message with the body of its event, and without the reference; None when the
        event is gone."""
        number = referred(message.headers)
        if number is None:
            return message
        body = self._known.get(number)
        if body is None:
            body = await self._ask(number)
        if body is None:
            return None
        return replace(message, body=body, headers=own_headers(message.headers))

    async def _ask(self, number: int) -> bytes | None:
        """Read a body. Those who ask meanwhile wait for the same answer."""
        task = self._asked.get(number)
        if task is None:
            task = self._asked[number] = asyncio.create_task(self._read(number))
            task.add_done_callback(lambda _: self._asked.pop(number, None))
        return await asyncio.shield(task)

    async def _read(self, number: int) -> bytes | None:
        if self._store is None:
            raise StoreError("a road on RabbitMQ has no events")
        event = await self._store.event(None, number)
        if event is None:
            return None
        self._known[number] = event.body
        self._bytes += len(event.body)
        while self._bytes > BYTES_MAX and len(self._known) > 1:
            self._bytes -= len(self._known.popitem(last=False)[1])
        return event.body
