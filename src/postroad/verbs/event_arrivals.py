"""Events that were published inside callers' transactions are matched and published after the
commit."""

import asyncio
from typing import Final, Protocol

from postroad.model.errors import PostroadError, StoreError
from postroad.model.event import EventArrival, Published, event_id
from postroad.ports.events import EventArrivals
from postroad.ports.log import Log
from postroad.ports.store import Store

BATCH: Final = 100
RETRY_MS: Final = 200
"""When something is left, it is another process's: perhaps that was killed."""
MOVE: Final = "publish events of callers' transactions"


class MoveArrival(Protocol):
    """Publishes an arrival to the endpoints that it matches; without `match` to none."""

    async def __call__(self, arrival: EventArrival, /, *, match: bool = True) -> Published | None:
        """Publish it; None: another process does."""


class EventMover:
    """Publishes what arrives, while the road runs."""

    def __init__(self, store: Store, publish: MoveArrival, log: Log) -> None:
        self._store = store
        self._publish = publish
        self._log = log

    async def run(self) -> None:
        """Publish arrivals in order of their numbers, in any process."""
        store = self._store
        if not isinstance(store, EventArrivals):
            return
        store.events_arrived = asyncio.Event()  # of this run's loop
        store.events_arrived.set()
        while True:
            await store.events_arrived.wait()
            store.events_arrived.clear()
            try:
                while arrivals := await store.event_arrivals(BATCH):
                    if not await self._move(arrivals):
                        # Never cancelled: to look once more costs little.
                        _ = self._store.clock.later(RETRY_MS, store.events_arrived.set)
                        break
                self._log.store_works(MOVE)
            except StoreError as error:
                self._log.store_failed(MOVE, error)
                # Never cancelled: to look once more costs little.
                _ = self._store.clock.later(RETRY_MS, store.events_arrived.set)

    async def _move(self, arrivals: list[EventArrival]) -> int:
        """Publish these; answers how many."""
        moved = 0
        for arrival in arrivals:
            said = await self._published(arrival)
            moved += said is not None
            if said is not None and said.digest not in (b"", arrival.digest):
                facts = {"event": event_id(arrival.id), "first": event_id(said.id)}
                self._log.warning("a key was used within a day for another event", **facts)
        return moved

    async def _published(self, arrival: EventArrival) -> Published | None:
        """Publish one. What cannot be matched is stored without messages: it neither holds up those
        behind it nor is lost."""
        try:
            return await self._publish(arrival)
        except StoreError:
            raise
        except PostroadError as error:
            facts = {"event": event_id(arrival.id), "tenant": arrival.tenant, "error": str(error)}
            self._log.error("an event could not be matched: it went to no endpoint", **facts)
            return await self._publish(arrival, match=False)
