"""The parts of the store on RabbitMQ, and how they are opened and closed."""

import os
import socket
from collections.abc import Sequence
from typing import Final

from postroad.model.entities import DEFAULT_TENANT, LaneKey, Policy, QueueSpec
from postroad.model.errors import NotOpen, StoreError
from postroad.observe.log import make_log
from postroad.observe.tasks import HasTasks, Tasks
from postroad.ports.bell import Listener
from postroad.ports.clock import Clock, system_chance
from postroad.ports.log import Log
from postroad.stores.bell import LocalBell
from postroad.stores.postgres.store import PostgresStore
from postroad.stores.rabbitmq.broker import Broker
from postroad.stores.rabbitmq.consuming.arrivals import Arrivals
from postroad.stores.rabbitmq.consuming.consumers import Consumers
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.consuming.queue_cache import QueueCache
from postroad.stores.rabbitmq.consuming.serving import Serving
from postroad.stores.rabbitmq.dead_letters import UNREADABLE
from postroad.stores.rabbitmq.delays.parking import Parking
from postroad.stores.rabbitmq.envelope import Envelope
from postroad.stores.rabbitmq.fleet.catch_all import CatchAll
from postroad.stores.rabbitmq.fleet.collector import DeadLetterCollector
from postroad.stores.rabbitmq.fleet.fleet import Fleet
from postroad.stores.rabbitmq.fleet.housekeeping import Housekeeping
from postroad.stores.rabbitmq.fleet.old_queues import OldQueueDrain
from postroad.stores.rabbitmq.options import RabbitOptions
from postroad.stores.rabbitmq.publishing.header_template import HeaderTemplates
from postroad.stores.rabbitmq.publishing.outbox import Outbox
from postroad.stores.rabbitmq.publishing.recent import RecentMessages
from postroad.stores.rabbitmq.publishing.recording import ResultRecorder
from postroad.stores.rabbitmq.publishing.republisher import Republisher
from postroad.stores.rabbitmq.publishing.routes import Routes
from postroad.stores.rabbitmq.state.broker_state import BrokerState, DeadLetter
from postroad.stores.rabbitmq.state.tables import PostgresTables, SqliteTables
from postroad.stores.rabbitmq.topology.topology import Topology
from postroad.stores.sqlite.store import SqliteStore

FRESH_S: Final = 2.0
EVER_S: Final = float("inf")
StateStore = SqliteStore | PostgresStore


class InProcessBell(LocalBell):
    """Wakes engines of this process. What other processes send arrives through the broker."""

    def holds(self, lane: int, number: int) -> bool:
        """Whether an engine of this process is trying a message, or has yet to record its
        result."""
        listeners: list[Listener] = [each for each, _ in self._listeners.values()]
        return any(listener.holds(lane, number) for listener in listeners)

    def hears(self, owner: int) -> bool:
        """Whether an engine of this owner is running."""
        return owner in self._listeners


class RabbitBase:
    """Builds and connects the parts. Nothing is consumed until an engine claims lanes, so a process
    that only sends takes no messages from workers."""

    def __init__(self, options: RabbitOptions, state: StateStore, log: Log | None = None) -> None:
        self.options = options
        self.state = state
        self.clock: Clock = state.clock
        self.bell = InProcessBell()
        self.log = log = log or make_log("warning")
        self.tasks = Tasks(log)
        self._is_file = isinstance(state, SqliteStore)
        tables = SqliteTables(state) if isinstance(state, SqliteStore) else PostgresTables(state)
        self.broker_state = records = BrokerState(tables)
        self.delivered = delivered = DeliveredMessages(self.bell.ring)
        self.topology = topology = Topology(options.prefix, options.shards)
        self.routes = routes = Routes(topology)
        clock, fresh_s = self.clock, EVER_S if self._is_file else FRESH_S
        self.queue_cache = cache = QueueCache(state, records, delivered, clock, fresh_s)
        self.broker = broker = Broker(options.address, topology, "postroad", clock, log)
        self.header_templates = HeaderTemplates(cache, routes)
        republisher = Republisher(broker, records, delivered)
        self.recorder = ResultRecorder(delivered, routes, republisher, clock)
        self.parking = Parking(delivered, routes, republisher, clock, self.bell.holds)
        self.arrivals = Arrivals(delivered, cache, records, republisher, routes, clock, log)
        self.arrivals.on_expiry = self.bell.ring_expiry
        self.outbox = Outbox(records, cache, routes, broker, clock, log)
        self.consumers = consumers = Consumers(
            delivered, self.arrivals, topology.name, broker.declare, options.prefetch, clock, log
        )
        fleet = Fleet(_name(), topology, broker.broadcast, consumers, clock, log)
        self.catch_all = CatchAll(topology, broker.declare, broker.publish, clock, log)
        collector = DeadLetterCollector(self.store_dead, clock)
        self.housekeeping = Housekeeping(topology, fleet, collector, self.catch_all, clock, log)
        old_queues = OldQueueDrain(cache, routes, broker, self._handlers, clock, log)
        self.serving = Serving(
            broker, consumers, self.arrivals, self.housekeeping, old_queues, clock
        )
        for part in (state, broker, consumers, self.housekeeping):
            if isinstance(part, HasTasks):
                part.tasks.tell(self.tasks.hear)
        self.recent = RecentMessages()
        self._owners: dict[int, int] = {}
        self._reaped: set[int] = set()
        self._told_s: dict[int, float] = {}
        """When the state store was last told that an owner is alive."""
        self._open = False

    @property
    def is_read_by_thread(self) -> bool:
        """False: this store reads in the event loop."""
        return False

    @property
    def queries(self) -> dict[str, int]:
        """How many statements were sent to the state store, by purpose."""
        return self.state.queries

    async def open(self) -> None:
        """Open the state store, connect to the broker, and declare and check the topology."""
        await self.state.open()
        try:
            await self.broker.open()
        except BaseException:
            await self.broker.close()
            await self.state.close()
            raise
        self._open = True
        parts = {
            "outbox": self.outbox.run(),
            "arrivals": self.arrivals.run(),
            "parking": self.parking.run(self.log),
        }
        if not self._is_file:
            parts["fresh queues"] = self._refresh()
        for name, work in parts.items():
            _ = self.tasks.start(work, name)  # `tasks` keeps it

    async def close(self) -> None:
        """Wait for open confirms, then close the broker and the state store."""
        self._open = False
        await self.tasks.close()
        await self.broker.close()
        await self.state.close()

    async def _refresh(self) -> None:
        """Read the queues of messages in memory regularly: other processes may pause or block
        them."""
        while True:
            await self.clock.sleep(FRESH_S)
            try:
                await self.queue_cache.reread_held()
            except StoreError as error:
                # A pause or block may take effect late.
                self.log.store_failed("read the queues", error)
            self.parking.look()

    def _check_open(self) -> None:
        if not self._open:
            raise NotOpen("the road is not open: use it inside `async with road:`")

    async def store_dead(self, letters: Sequence[Envelope]) -> None:
        """Store dead letters in one transaction, each once."""
        rows = [await self._dead_letter(letter) for letter in letters]
        await self.broker_state.store_dead(rows, self.clock.now_ms())

    async def _dead_letter(self, letter: Envelope) -> DeadLetter:
        queue = await self.queue_cache.queue((letter.tenant, letter.queue))
        if queue is not None and letter.shard < len(queue.lanes):
            return letter, queue.id, queue.lanes[letter.shard]
        key = LaneKey("handler", UNREADABLE)
        spec = QueueSpec(DEFAULT_TENANT, UNREADABLE, key, 1, Policy())
        found = await self.queue_cache.queue((DEFAULT_TENANT, UNREADABLE))
        (queue,) = [found] if found else await self.queue_cache.open_queues([spec])
        return letter, queue.id, queue.lanes[0]

    def _handlers(self) -> list[str]:
        return [each for each in self.consumers.targets if each.startswith("handler.")]


def _name() -> str:
    """A unique name of this process for its fleet."""
    return f"{socket.gethostname()}-{os.getpid()}-{int(system_chance().random() * (1 << 32)):08x}"
