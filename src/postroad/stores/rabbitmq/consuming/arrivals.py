"""Checks deliveries in batches, and adds the messages to the tables in memory."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from postroad.model.entities import Message, Queue
from postroad.model.errors import StoreError
from postroad.model.states import NEVER
from postroad.observe.gathering import EventGathering
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.delivery import AckHandle, DeliveredMessage, is_suspect
from postroad.stores.rabbitmq.consuming.memory_tables import DeliveredMessages
from postroad.stores.rabbitmq.consuming.queue_cache import QueueCache
from postroad.stores.rabbitmq.dead_letters import unreadable
from postroad.stores.rabbitmq.delays.gates import HOLD_MS, death, gate_ms
from postroad.stores.rabbitmq.envelope import BadEnvelope, Envelope, unpack
from postroad.stores.rabbitmq.publishing.republisher import RepublishBatch, Republisher
from postroad.stores.rabbitmq.publishing.routes import RoutedCopy, Routes
from postroad.stores.rabbitmq.state.broker_state import BrokerState, KnownMessage
from postroad.stores.rabbitmq.wire.properties import Delivery

BATCH: Final = 500
RETRY_S: Final = 1.0
LOOK_UP: Final = "look up messages"
UNKNOWN: Final = KnownMessage()


class IncomingDelivery(Struct, frozen=True):
    """A delivery and its ack handle. `source` is the target that it was consumed from."""

    delivery: Delivery
    ack_handle: AckHandle
    source: str


ReadDelivery = tuple[IncomingDelivery, Envelope, bool]
"""A delivery, its envelope, and whether it is suspect."""
Fresh = dict[int, DeliveredMessage]


class Arrivals:
    """Takes deliveries. While one batch is handled the next one gathers."""

    def __init__(
        self,
        delivered: DeliveredMessages,
        queue_cache: QueueCache,
        state: BrokerState,
        republisher: Republisher,
        routes: Routes,
        clock: Clock,
        log: Log,
    ) -> None:
        self._delivered = delivered
        self._queue_cache = queue_cache
        self._state = state
        self._republisher = republisher
        self._routes = routes
        self._clock = clock
        self._gathering = EventGathering(clock)
        self._log = log
        self._waiting: list[IncomingDelivery] = []
        self._republished: set[AckHandle] = set()
        """The deliveries of the current batch whose copies the broker has confirmed."""
        self._work = asyncio.Event()
        self.busy = False
        self.on_expiry: Callable[[int], None] = lambda _at_ms: None

    @property
    def idle(self) -> bool:
        """Whether every delivery has been handled."""
        return not (self._waiting or self.busy)

    def take(self, arrived: IncomingDelivery) -> None:
        """Take a delivery."""
        self._waiting.append(arrived)
        self._work.set()

    async def run(self) -> None:
        """Handle deliveries until cancelled."""
        while True:
            await self._work.wait()
            if not self._waiting:
                self._work.clear()
                continue
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            self.busy = True
            await self._handle(batch)
            del batch  # else its bodies are kept until the next one
            self.busy = False

    async def _handle(self, batch: list[IncomingDelivery]) -> None:
        plan: tuple[RepublishBatch, Fresh] | None = None
        self._republished.clear()
        while alive := [one for one in batch if one.ack_handle.alive]:
            try:
                plan = plan or await self._plan(alive)
                republish, fresh = plan
                await self._republisher.run(republish)
            except StoreError as error:
                self._log.store_failed(LOOK_UP, error)
                if plan is not None and plan[0].copies:
                    self._republished |= {e.ack_handle for e in plan[0].ended if e.republished}
                    plan = None  # otherwise everything is published, and only the write is repeated
                await self._clock.sleep(RETRY_S)
            else:
                self._log.store_works(LOOK_UP)
                self._add(fresh)
                return

    async def _plan(self, batch: Sequence[IncomingDelivery]) -> tuple[RepublishBatch, Fresh]:
        """What to republish, and what to add to the tables in memory."""
        republish = RepublishBatch(self._routes, self._clock.now_ms())
        read = [one for arrived in batch if (one := self._read(republish, arrived))]
        self._delivered.arriving = {envelope.id for _, envelope, _ in read}
        known = await self._state.known(e.id for arrived, e, _ in read if _may_repeat(arrived, e))
        fresh: Fresh = {}
        for one in read:
            arrived, envelope, _ = one
            queue = await self._queue_cache.queue((envelope.tenant, envelope.queue))
            if queue is None or envelope.shard >= len(queue.lanes):
                self._refuse(republish, arrived, "its queue is not known to the state store")
                continue
            entry = self._entry(one, queue, known.get(envelope.id, UNKNOWN), fresh)
            if entry is not None:
                self._place(republish, entry, queue, fresh)
        return republish, fresh

    def _add(self, fresh: Fresh) -> None:
        """Add messages to the tables in memory. Those that an earlier try delivered since the
        look-up are acked instead; those of a broker queue that was given back or lost are left
        out."""
        wanted, self._delivered.arriving = self._delivered.arriving, set()
        for number in fresh.keys() - wanted:
            fresh.pop(number).ack_handle.ack()
        self._delivered.put([entry for entry in fresh.values() if entry.ack_handle.alive])
        expiry_ms = min((e.message.expires_at_ms for e in fresh.values()), default=NEVER)
        if expiry_ms < NEVER:
            self.on_expiry(expiry_ms)

    def _read(self, republish: RepublishBatch, arrived: IncomingDelivery) -> ReadDelivery | None:
        headers = arrived.delivery.properties.headers
        try:
            envelope = unpack(headers, arrived.delivery.body)
        except BadEnvelope as error:
            self._refuse(republish, arrived, str(error))
            return None
        return arrived, envelope, is_suspect(headers)

    def _refuse(self, republish: RepublishBatch, arrived: IncomingDelivery, why: str) -> None:
        """Send a delivery that cannot be used to the dead set."""
        alike, facts = {"broker_queue": arrived.source}, {"why": why}
        self._gathering.add(self._log.error, "could not read a message", alike, facts.copy)
        letter = unreadable(arrived.delivery, why, self._clock.now_ms())
        message = Message(letter.id, 0, 0, 0, 0, 0, 0, 0, 0, 0, NEVER, b"")
        entry = DeliveredMessage(letter, message, arrived.ack_handle, arrived.source)
        entry.republished = arrived.ack_handle in self._republished
        republish.replace(entry, RoutedCopy(self._routes.topology.dead_exchange, "", letter))

    def _entry(
        self, one: ReadDelivery, queue: Queue, known: KnownMessage, fresh: Fresh
    ) -> DeliveredMessage | None:
        """The message; None when this copy is spent, or the message is already in memory."""
        arrived, envelope, suspect = one
        ack_handle = arrived.ack_handle
        held = self._delivered.messages.get(envelope.id) or fresh.get(envelope.id)
        if held is not None and held.envelope.hop < envelope.hop:
            _ = self._delivered.drop(envelope.id)  # a peer published a newer copy meanwhile
            fresh.pop(envelope.id, None)
            held.ack_handle.ack()
            held = None
        if known.finished or envelope.hop <= known.hop or held is not None:
            ack_handle.ack()
            return None
        # The noted starts belong to the copy after the last spent one.
        starts = known.starts if known.hop == envelope.hop - 1 else 0
        message = message_of(envelope, queue, starts)
        entry = DeliveredMessage(envelope, message, ack_handle, arrived.source)
        entry.suspect = suspect
        entry.republished = ack_handle in self._republished
        return entry

    def _place(
        self, republish: RepublishBatch, entry: DeliveredMessage, queue: Queue, fresh: Fresh
    ) -> None:
        lane = self._queue_cache.lane(entry.message.lane)
        now_ms = self._clock.now_ms()
        reason = death(entry.message, queue, lane, now_ms)
        if entry.republished:
            republish.back(entry, lane.key)  # its copy is published: only the state is written
        elif reason is not None:
            republish.die(entry, reason)
            self._gathering.add(self._log.warning, "message died", {"reason": reason})
        elif min(entry.message.due_ms, entry.message.expires_at_ms) > now_ms + HOLD_MS:
            republish.back(entry, lane.key)
        elif (until_ms := gate_ms(entry.message, queue, lane)) > now_ms + HOLD_MS:
            republish.park(entry, lane.key, until_ms)
        else:
            fresh[entry.message.id] = entry


def _may_repeat(arrived: IncomingDelivery, envelope: Envelope) -> bool:
    """Whether this copy may have arrived before, so that the state store must be asked. A message
    that comes from a delay queue may: a broker that dies while it dead-letters it does so again,
    as a new message that is not marked as redelivered."""
    waited = envelope.due_ms > envelope.accepted_at_ms
    return bool(envelope.hop or waited or arrived.delivery.redelivered)


def message_of(envelope: Envelope, queue: Queue, starts: int) -> Message:
    """The message in the form that the engine reads."""
    return Message(
        id=envelope.id,
        rung=0,
        queue=queue.id,
        lane=queue.lanes[envelope.shard],
        level=envelope.level,
        attempts=envelope.attempts,
        marks=starts,
        place=max(envelope.due_ms, envelope.behind_ms),
        due_ms=envelope.due_ms,
        accepted_at_ms=envelope.accepted_at_ms,
        expires_at_ms=envelope.expires_at_ms,
        body=envelope.body,
        headers=envelope.headers,
    )
