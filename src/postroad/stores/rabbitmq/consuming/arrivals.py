"""Arrivals: what the broker delivers, checked in batches, and put where the engine finds it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from postroad.model.entities import Message, Queue
from postroad.model.errors import StoreError
from postroad.model.states import NEVER
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.stores.rabbitmq.consuming.delivery import HOLD_MS, Entry, Receipt
from postroad.stores.rabbitmq.consuming.memory_tables import Table
from postroad.stores.rabbitmq.consuming.queue_cache import Book
from postroad.stores.rabbitmq.dead_letters import delivery_count, suspect, unreadable
from postroad.stores.rabbitmq.delays.gates import death, gate_ms
from postroad.stores.rabbitmq.envelope import BadEnvelope, Envelope, unpack
from postroad.stores.rabbitmq.publishing.republisher import Shift, Shifter
from postroad.stores.rabbitmq.publishing.routes import Post, Routes
from postroad.stores.rabbitmq.state.broker_state import BrokerState, Known
from postroad.stores.rabbitmq.wire.properties import Delivery

BATCH: Final = 500
RETRY_S: Final = 1.0
UNKNOWN: Final = Known()


class Arrived(Struct, frozen=True):
    """A delivery, and how it is settled."""

    delivery: Delivery
    receipt: Receipt
    source: str


class Read(Struct, frozen=True):
    """A delivery that could be read."""

    envelope: Envelope
    arrived: Arrived
    returns: int


class Looked(Struct, frozen=True):
    """What a batch comes to: what is done about some of it, and what is for the table."""

    shift: Shift
    fresh: dict[int, Entry]


class Arrivals:
    """Takes deliveries; while one batch is looked at the next one gathers."""

    def __init__(
        self,
        table: Table,
        book: Book,
        state: BrokerState,
        shifter: Shifter,
        routes: Routes,
        clock: Clock,
        log: Log,
    ) -> None:
        self._table = table
        self._book = book
        self._state = state
        self._shifter = shifter
        self._routes = routes
        self._clock = clock
        self._log = log
        self._waiting: list[Arrived] = []
        self._moved: set[Receipt] = set()
        """Of the batch that is looked at: copies that take their place are in the broker."""
        self._work = asyncio.Event()
        self.busy = False
        self.on_expiry: Callable[[int], None] = lambda _at_ms: None

    @property
    def idle(self) -> bool:
        """Whether all that came is in the table, or gone."""
        return not (self._waiting or self.busy)

    def take(self, arrived: Arrived) -> None:
        """One more came."""
        self._waiting.append(arrived)
        self._work.set()

    async def run(self) -> None:
        """Look at what comes, for as long as this is served."""
        while True:
            await self._work.wait()
            if not self._waiting:
                self._work.clear()
                continue
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            self.busy = True
            await self._until_dealt_with(batch)
            self.busy = False

    async def _until_dealt_with(self, batch: list[Arrived]) -> None:
        looked: Looked | None = None
        self._moved.clear()
        while alive := [one for one in batch if one.receipt.alive]:
            try:
                looked = looked or await self._look(alive)
                await self._shifter.run(looked.shift)
            except StoreError as error:
                self._log.warning("messages wait to be looked at", error=str(error))
                if looked is not None and looked.shift.posts:
                    self._moved |= {e.receipt for e in looked.shift.ended if e.moved}
                    looked = None  # else all is published, and only to be noted
                await self._clock.sleep(RETRY_S)
            else:
                self._settle_in(looked.fresh)
                return

    async def _look(self, batch: Sequence[Arrived]) -> Looked:
        shift = Shift(self._routes, self._clock.now_ms())
        read = [one for arrived in batch if (one := self._read(shift, arrived))]
        self._table.arriving = {one.envelope.id for one in read}
        doubtful = [r.envelope.id for r in read if r.envelope.hop or r.arrived.delivery.redelivered]
        known = await self._state.known(doubtful)
        fresh: dict[int, Entry] = {}
        for one in read:
            queue = await self._book.queue((one.envelope.tenant, one.envelope.queue))
            if queue is None or one.envelope.shard >= len(queue.lanes):
                self._refuse(shift, one.arrived, "its queue is not known to the state store")
                continue
            entry = self._entry(one, queue, known.get(one.envelope.id, UNKNOWN), fresh)
            if entry is not None:
                self._place(shift, entry, queue, fresh)
        return Looked(shift, fresh)

    def _settle_in(self, fresh: dict[int, Entry]) -> None:
        """Into the table, but for what an earlier try has delivered since it was looked up. A line
        that was given back or lost meanwhile takes its messages along."""
        wanted, self._table.arriving = self._table.arriving, set()
        for number in fresh.keys() - wanted:
            fresh.pop(number).receipt.ack()
        self._table.put([entry for entry in fresh.values() if entry.receipt.alive])
        expiry_ms = min((e.message.expires_at_ms for e in fresh.values()), default=NEVER)
        if expiry_ms < NEVER:
            self.on_expiry(expiry_ms)

    def _read(self, shift: Shift, arrived: Arrived) -> Read | None:
        headers = arrived.delivery.properties.headers
        try:
            envelope = unpack(headers, arrived.delivery.body)
        except BadEnvelope as error:
            self._refuse(shift, arrived, str(error))
            return None
        return Read(envelope, arrived, delivery_count(headers))

    def _refuse(self, shift: Shift, arrived: Arrived, why: str) -> None:
        """Nobody can serve it: into the dead set, as it is."""
        self._log.error("a message cannot be read", line=arrived.source, why=why)
        letter = unreadable(arrived.delivery, why, self._clock.now_ms())
        message = Message(letter.id, 0, 0, 0, 0, 0, 0, 0, 0, 0, NEVER, b"")
        entry = Entry(letter, message, arrived.receipt, arrived.source)
        entry.moved = arrived.receipt in self._moved
        shift.replace(entry, Post(self._routes.topology.dead_exchange, "", letter))

    def _entry(
        self, one: Read, queue: Queue, known: Known, fresh: dict[int, Entry]
    ) -> Entry | None:
        """The message, unless this copy of it is spent or held already."""
        envelope, receipt = one.envelope, one.arrived.receipt
        held = self._table.entries.get(envelope.id) or fresh.get(envelope.id)
        if held is not None and held.envelope.hop < envelope.hop:
            _ = self._table.drop(envelope.id)  # a peer has made another copy of it meanwhile
            fresh.pop(envelope.id, None)
            held.receipt.ack()
            held = None
        if known.finished or envelope.hop <= known.hop or held is not None:
            receipt.ack()
            return None
        # Starts of the copy before count only there; it may not be noted as spent yet.
        starts = known.starts if known.hop == envelope.hop - 1 else 0
        message = message_of(envelope, queue, starts)
        entry = Entry(envelope, message, receipt, one.arrived.source)
        entry.suspect = suspect(one.returns)
        entry.moved = receipt in self._moved
        return entry

    def _place(self, shift: Shift, entry: Entry, queue: Queue, fresh: dict[int, Entry]) -> None:
        lane = self._book.lane(entry.message.lane)
        now_ms = self._clock.now_ms()
        reason = death(entry.message, queue, lane, now_ms)
        if entry.moved:
            shift.back(entry, lane.key)  # only to be noted, whatever it would be by now
        elif reason is not None:
            shift.die(entry, reason)
        elif min(entry.message.due_ms, entry.message.expires_at_ms) > now_ms + HOLD_MS:
            shift.back(entry, lane.key)
        elif (until_ms := gate_ms(entry.message, queue, lane)) > now_ms + HOLD_MS:
            shift.park(entry, lane.key, until_ms)
        else:
            fresh[entry.message.id] = entry


def message_of(envelope: Envelope, queue: Queue, starts: int) -> Message:
    """The message as its lane's owner reads it."""
    return Message(
        id=envelope.id,
        rung=0,
        queue=queue.id,
        lane=queue.lanes[envelope.shard],
        level=envelope.level,
        attempts=envelope.attempts,
        marks=starts,
        place=envelope.due_ms,
        due_ms=envelope.due_ms,
        accepted_at_ms=envelope.accepted_at_ms,
        expires_at_ms=envelope.expires_at_ms,
        body=envelope.body,
        headers=envelope.headers,
    )
