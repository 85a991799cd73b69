"""Moves messages of blocked queues and lanes from memory to the delay queues, so that they do not
use up the prefetch."""

import asyncio
from collections.abc import Callable
from typing import Final

from postroad.model.errors import StoreError
from postroad.model.states import NEVER
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.delivery import DeliveredMessage
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.delays.gates import HOLD_MS, death, gate_ms
from postroad.stores.rabbitmq.publishing.republisher import RepublishBatch, Republisher
from postroad.stores.rabbitmq.publishing.routes import Routes

GRACE_S: Final = 0.05
"""The owners of lanes get this long to drop what they have read ahead of a block."""
RETRY_S: Final = 1.0
Holds = Callable[[int, int], bool]


class Parking:
    """Parks blocked messages, and sends expired ones to the dead set. `holds(lane, message)` says
    whether an engine is trying a message, or has not yet recorded its result."""

    def __init__(
        self,
        delivered: DeliveredMessages,
        routes: Routes,
        republisher: Republisher,
        clock: Clock,
        holds: Holds,
    ) -> None:
        self._delivered = delivered
        self._routes = routes
        self._republisher = republisher
        self._clock = clock
        self._holds = holds
        self._work = asyncio.Event()

    def look(self) -> None:
        """Look for blocked messages soon."""
        self._work.set()

    async def run(self, log: Log) -> None:
        """Park messages whenever `look` was called."""
        while True:
            await self._work.wait()
            await self._clock.sleep(GRACE_S)
            self._work.clear()
            try:
                _ = await self.park()  # the count does not matter
            except StoreError as error:
                log.store_failed("park the messages of held queues", error)
                await self._clock.sleep(RETRY_S)
                self._work.set()

    async def park(self) -> int:
        """Park all blocked messages; answers how many."""
        now_ms = self._clock.now_ms()
        republish = RepublishBatch(self._routes, now_ms)
        for entry, until_ms in self._blocked(now_ms):
            republish.park(entry, self._delivered.lanes[entry.message.lane].key, until_ms)
        self._delivered.withhold(republish.ended)  # their block may end meanwhile
        try:
            await self._republisher.run(republish)
        finally:
            self._delivered.offer(entry for entry in republish.ended if not entry.republished)
        return len(republish.ended)

    def _blocked(self, now_ms: int) -> list[tuple[DeliveredMessage, int]]:
        """Blocked messages, and those that are republished but not yet recorded as parked."""
        found = []
        for memory_lane in self._delivered.memory_lanes.values():
            for rung in memory_lane.filled:
                queue = self._delivered.queues[rung.row.queue]
                for entry in rung.messages.values():
                    until_ms = gate_ms(entry.message, queue, memory_lane.lane)
                    blocked = entry.republished or until_ms > now_ms + HOLD_MS
                    if blocked and not self._held(entry):
                        found.append((entry, until_ms))
        return found

    async def expire(self, limit: int) -> tuple[int, int]:
        """Send expired messages to the dead set; answers how many, and when the next expires."""
        now_ms = self._clock.now_ms()
        republish = RepublishBatch(self._routes, now_ms)
        next_at_ms = NEVER
        for entry in self._delivered.messages.values():
            lane = self._delivered.lanes[entry.message.lane]
            reason = death(entry.message, self._delivered.queues[entry.message.queue], lane, now_ms)
            if reason is None:
                next_at_ms = min(next_at_ms, entry.message.expires_at_ms)
            elif self._held(entry):
                next_at_ms = min(next_at_ms, now_ms + HOLD_MS)
            elif len(republish.ended) < limit:
                republish.die(entry, reason)
            else:
                next_at_ms = now_ms
        await self._republisher.run(republish)
        return len(republish.ended), next_at_ms

    def _held(self, entry: DeliveredMessage) -> bool:
        return self._holds(entry.message.lane, entry.message.id)
