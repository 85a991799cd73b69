"""Endpoints that were made for a while are deleted when they expire; and those whose deletion did
not come to its end."""

import asyncio
from typing import Final, Protocol

from postroad.model.endpoint import endpoint_id
from postroad.model.errors import PostroadError, StoreError, StoreUnavailable, UnknownEndpoint
from postroad.ports.events import EventStore
from postroad.ports.log import Log
from postroad.ports.store import Store

BATCH: Final = 100
RETRY_S: Final = 5.0
LOOK_S: Final = 3_600.0
"""How late another process learns of an endpoint that expires, if the one that made it is gone."""


class Delete(Protocol):
    """Deletes an endpoint."""

    async def __call__(self, id: str, /, *, tenant: str) -> None:  # noqa: A002
        """Delete it."""


class EndpointExpiry:
    """Deletes expired endpoints while the road runs."""

    def __init__(self, store: Store, delete: Delete, log: Log) -> None:
        self._store = store
        self._delete = delete
        self._log = log
        self._changed = asyncio.Event()

    def expect(self) -> None:
        """Look again: one was made or changed here that expires."""
        self._changed.set()

    async def run(self) -> None:
        """Delete each endpoint at its time."""
        store = self._store
        if not isinstance(store, EventStore):
            return
        self._changed = asyncio.Event()  # of this run's loop
        while True:
            self._changed.clear()
            try:
                wait_s = await self._sweep(store)
            except PostroadError as error:
                self._told(error)
                wait_s = RETRY_S
            timer = store.clock.later(int(wait_s * 1000), self._changed.set)
            await self._changed.wait()
            timer.cancel()

    def _told(self, error: PostroadError, **facts: object) -> None:
        away = isinstance(error, StoreUnavailable)  # which is told for all parts at once
        tell = self._log.debug if away else self._log.warning
        tell("could not delete expired endpoints", **facts, error=str(error))

    async def _sweep(self, store: EventStore) -> float:
        """Delete those that have expired; answers after how many seconds the next one does."""
        now_ms, wait_s = self._store.clock.now_ms(), LOOK_S
        for at_ms, tenant, number in await store.endpoint_expiring(BATCH):
            if at_ms > now_ms:
                return min((at_ms - now_ms) / 1000, wait_s)
            try:
                await self._delete(endpoint_id(number), tenant=tenant)
            except UnknownEndpoint:
                continue  # another process was faster
            except StoreError:
                raise
            except PostroadError as error:  # those behind it have their turn
                self._told(error, endpoint=endpoint_id(number))
                wait_s = RETRY_S
                continue
            self._log.info("endpoint deleted: its time was over", endpoint=endpoint_id(number))
        return wait_s
