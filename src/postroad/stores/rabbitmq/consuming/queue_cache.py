"""Caches queues and lanes of the state store, and reads them again when they may have changed."""

from collections.abc import Iterable, Sequence

from postroad.model.entities import Lane, Queue, QueueSpec
from postroad.ports.clock import Clock
from postroad.ports.store import Store
from postroad.ports.usage import CountedKind
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.state.broker_state import BrokerState

Name = tuple[str, str]


class QueueCache:
    """Queues by name, lanes by number. A queue is read again after `fresh_s`. With a state file of
    our own that is never, since all changes go through this process."""

    def __init__(
        self,
        store: Store,
        state: BrokerState,
        delivered: DeliveredMessages,
        clock: Clock,
        fresh_s: float,
    ) -> None:
        self._store = store
        self._state = state
        self._delivered = delivered
        self._clock = clock
        self._fresh_s = fresh_s
        self._ids: dict[Name, int] = {}
        self._read_s: dict[Name, float] = {}

    async def open_queues(self, specs: Sequence[QueueSpec]) -> list[Queue]:
        """Open the queues of these names; new ones are created."""
        queues = await self._store.open_queues(specs)
        for queue in queues:
            await self._remember(queue)
        return queues

    async def tenant_has(self, kept: CountedKind, tenant: str, most: int) -> int:
        """Count what a tenant has, up to `most`."""
        return await self._store.tenant_has(kept, tenant, most)

    async def find(self, name: Name) -> Queue | None:
        """Read a queue from the state store."""
        queue = await self._store.find_queue(*name)
        if queue is not None:
            await self._remember(queue)
        return queue

    async def queue(self, name: Name) -> Queue | None:
        """A queue from the cache, or read if the cached one is too old."""
        if self._clock.steady_s() - self._read_s.get(name, -self._fresh_s) < self._fresh_s:
            return self._delivered.queues[self._ids[name]]
        queue = await self.find(name)
        if queue is not None:
            await self._read_lanes(queue.lanes)
        return queue

    def lane(self, number: int) -> Lane:
        """A cached lane."""
        return self._delivered.lanes[number]

    def known(self, number: int) -> Queue | None:
        """A cached queue, by number."""
        return self._delivered.queues.get(number)

    async def refresh(self, names: Iterable[Name]) -> None:
        """Read these queues and their lanes again."""
        for name in names:
            self._read_s.pop(name, None)
            _ = await self.queue(name)  # `queue` updates the cache

    async def reread(self, queue: int) -> None:
        """Read a changed queue again."""
        known = self.known(queue)
        if known is not None:
            _ = await self.find((known.tenant, known.name))  # `find` updates the cache

    async def reread_lane(self, lane: int) -> None:
        """Read a changed lane and its queues again."""
        await self._read_lanes([lane])
        for queue in [q for q in self._delivered.queues.values() if lane in q.lanes]:
            _ = await self.find((queue.tenant, queue.name))  # `find` updates the cache

    async def reread_held(self) -> None:
        """Read the queues of messages in memory again."""
        held = {entry.message.queue for entry in self._delivered.messages.values()}
        queues = [self._delivered.queues[number] for number in held]
        await self.refresh([(queue.tenant, queue.name) for queue in queues])

    def forget(self) -> None:
        """Read each queue again when it is used: something changed for many of them."""
        self._read_s.clear()

    async def _remember(self, queue: Queue) -> None:
        if self._delivered.queues.get(queue.id) != queue:
            self._delivered.update_queue(queue)
        await self._read_lanes([lane for lane in queue.lanes if lane not in self._delivered.lanes])
        # Only now: concurrent readers must not find the queue without its lanes.
        name = (queue.tenant, queue.name)
        self._ids[name] = queue.id
        self._read_s[name] = self._clock.steady_s()

    async def _read_lanes(self, numbers: Sequence[int]) -> None:
        for lane in await self._state.lanes(numbers):
            if self._delivered.lanes.get(lane.id) != lane:
                self._delivered.update_lane(lane)
