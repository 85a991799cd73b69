"""What is known of queues and lanes: read from the state store once, and again when it may have
changed."""

from collections.abc import Iterable, Sequence

from postroad.model.entities import Lane, Queue, QueueSpec
from postroad.ports.clock import Clock
from postroad.ports.store import Store
from postroad.ports.usage import Kept
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.state.broker_state import BrokerState

Name = tuple[str, str]


class QueueCache:
    """Queues by name, lanes by number. `fresh_s`: for so long what was read is believed; in a file
    of our own for ever, since all changes go through here."""

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
        """The queues of these names, made where they are new."""
        queues = await self._store.open_queues(specs)
        for queue in queues:
            await self._remember(queue)
        return queues

    async def tenant_has(self, kept: Kept, tenant: str, most: int) -> int:
        """How many of these a tenant has."""
        return await self._store.tenant_has(kept, tenant, most)

    async def find(self, name: Name) -> Queue | None:
        """The queue of that name, as it is now."""
        queue = await self._store.find_queue(*name)
        if queue is not None:
            await self._remember(queue)
        return queue

    async def queue(self, name: Name) -> Queue | None:
        """The queue of that name, as it was a moment ago."""
        if self._clock.steady_s() - self._read_s.get(name, -self._fresh_s) < self._fresh_s:
            return self._delivered.queues[self._ids[name]]
        queue = await self.find(name)
        if queue is not None:
            await self._read_lanes(queue.lanes)
        return queue

    def lane(self, number: int) -> Lane:
        """A lane of a queue that was read before."""
        return self._delivered.lanes[number]

    def known(self, number: int) -> Queue | None:
        """A queue that was read before."""
        return self._delivered.queues.get(number)

    async def refresh(self, names: Iterable[Name]) -> None:
        """Read these again, with their lanes."""
        for name in names:
            queue = await self.find(name)
            if queue is not None:
                await self._read_lanes(queue.lanes)

    async def reread(self, queue: int) -> None:
        """One queue changed."""
        known = self.known(queue)
        if known is not None:
            _ = await self.find((known.tenant, known.name))  # the book learns it

    async def reread_lane(self, lane: int) -> None:
        """One lane changed, and perhaps its queues."""
        await self._read_lanes([lane])
        for queue in [q for q in self._delivered.queues.values() if lane in q.lanes]:
            _ = await self.find((queue.tenant, queue.name))  # the book learns it

    async def _remember(self, queue: Queue) -> None:
        if self._delivered.queues.get(queue.id) != queue:
            self._delivered.update_queue(queue)
        await self._read_lanes([lane for lane in queue.lanes if lane not in self._delivered.lanes])
        # Not before: others who ask for it meanwhile would find it without its lanes.
        name = (queue.tenant, queue.name)
        self._ids[name] = queue.id
        self._read_s[name] = self._clock.steady_s()

    async def _read_lanes(self, numbers: Sequence[int]) -> None:
        for lane in await self._state.lanes(numbers):
            if self._delivered.lanes.get(lane.id) != lane:
                self._delivered.update_lane(lane)
