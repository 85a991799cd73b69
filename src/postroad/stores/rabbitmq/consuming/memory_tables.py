"""The tables of this store, in memory: an imitation of what SQLite and PostgreSQL keep on disk.

The engine claims lanes, reads rungs and fetches messages here with the same calls as in a
database. The rows are the messages that the broker delivered to this process and that are not yet
acked. No I/O is done here. The owner of a lane matters within this process only: which process
has a lane at all is decided by who consumes its broker queue.

    DeliveredMessages    messages by id, queues, lanes
      └ MemoryLane       a lane that has messages or an owner
          └ RungQueue    the messages of one queue, level and priority, by due time
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from msgspec.structs import replace

from postroad.model.circuit import CLOSED
from postroad.model.entities import Lane, Message, Queue, Rung
from postroad.model.ladder import LAST_POLLED_LEVEL
from postroad.model.record import Claim, Look, Reading, View, Want
from postroad.model.states import NEVER
from postroad.model.tenant_turns import ReadyLane, in_turn
from postroad.ports.store import Levels, Names
from postroad.stores.bell import Ring
from postroad.stores.rabbitmq.consuming.delivery import DeliveredMessage
from postroad.stores.rabbitmq.delays.gates import lane_gate_ms, queue_gate_ms

READ_BYTES_MAX: Final = 4 << 20
RungKey = tuple[int, int, int]


class RungQueue:
    """The messages of one rung, ordered by due time."""

    __slots__ = ("_keys", "messages", "row")

    def __init__(self, row: Rung) -> None:
        self.row = row
        self.messages: dict[int, DeliveredMessage] = {}
        self._keys: list[tuple[int, int]] = []

    def add(self, entry: DeliveredMessage) -> None:
        """Add a message."""
        message = entry.message = replace(entry.message, rung=self.row.id)
        self.messages[message.id] = entry
        insort(self._keys, (message.place, message.id))

    def remove(self, entry: DeliveredMessage) -> None:
        """Remove a message."""
        if self.messages.pop(entry.message.id, None) is not None:
            self.withhold(entry)

    def withhold(self, entry: DeliveredMessage) -> None:
        """Hide a message from readers until it is offered again."""
        key = (entry.message.place, entry.message.id)
        at = bisect_left(self._keys, key)
        if self._keys[at : at + 1] == [key]:
            del self._keys[at]

    def offer(self, entry: DeliveredMessage) -> None:
        """Show a message to readers again."""
        self.withhold(entry)
        insort(self._keys, (entry.message.place, entry.message.id))

    def put_behind(self, entry: DeliveredMessage, place: int) -> None:
        """Move a message behind others that are due."""
        key = (entry.message.place, entry.message.id)
        shown = self._keys[(at := bisect_left(self._keys, key)) : at + 1] == [key]
        self.withhold(entry)
        entry.message = replace(entry.message, place=place)
        entry.envelope = replace(entry.envelope, behind_ms=place)  # its next copy says so
        if shown:
            self.offer(entry)

    def first_due_ms(self) -> int:
        """When the first message is due."""
        return self._keys[0][0] if self._keys else NEVER

    def read(self, want: Want, now_ms: int) -> Reading:
        """The due messages after a cursor. The first one that is not due ends the reading."""
        messages: list[Message] = []
        body_bytes = 0
        start = bisect_right(self._keys, (want.after_place, want.after_id))
        for key in islice(self._keys, start, None):
            if key[0] > now_ms:
                return Reading(want.rung, messages, key[0], full=False)
            if len(messages) >= want.limit or body_bytes > READ_BYTES_MAX:
                return Reading(want.rung, messages, NEVER, full=True)
            message = self.messages[key[1]].message
            messages.append(message)
            body_bytes += len(message.body)
        return Reading(want.rung, messages, NEVER, full=len(messages) >= want.limit)


class MemoryLane:
    """A lane that has messages or an owner."""

    __slots__ = ("crashes", "epoch", "lane", "owner", "owner_informed", "rungs", "source")

    def __init__(self, lane: Lane, source: str) -> None:
        self.lane = lane
        self.source = source
        self.owner: int | None = None
        self.epoch = 0
        self.crashes = 0
        self.rungs: dict[RungKey, RungQueue] = {}
        self.owner_informed = True
        """Whether the owner has looked at the lane since its broker queue was closed."""

    @property
    def filled(self) -> list[RungQueue]:
        """The rungs that have messages."""
        return [rung for rung in self.rungs.values() if rung.messages]

    def as_lane(self) -> Lane:
        """The lane as its owner gets it. A suspect message counts as one more crash."""
        suspects = any(e.suspect for rung in self.filled for e in rung.messages.values())
        return replace(self.lane, epoch=self.epoch, crashes=self.crashes + suspects)


class DeliveredMessages:
    """All messages of this process by id, and its lanes by number. `ring` wakes the readers whom a
    change concerns."""

    def __init__(self, ring: Callable[[list[Ring]], None]) -> None:
        self.messages: dict[int, DeliveredMessage] = {}
        self.memory_lanes: dict[int, MemoryLane] = {}
        self.queues: dict[int, Queue] = {}
        self.lanes: dict[int, Lane] = {}
        """Every lane that this process has read, as it stands in the state store."""
        self.open_sources: set[str] = set()
        self.arriving: set[int] = set()
        """Ids whose copies are being looked up and may be added soon."""
        self._ring = ring
        self._rungs: dict[int, RungQueue] = {}
        self._rungs_made = 0
        self._epochs = 0

    # Adding and removing messages

    def put(self, entries: Iterable[DeliveredMessage]) -> None:
        """Add messages whose queues and lanes are known, and whose ids are new here."""
        placed: list[DeliveredMessage] = []
        for entry in entries:
            lane = self.lanes[entry.message.lane]
            held = self.memory_lanes.get(lane.id)
            if held is None:
                held = self.memory_lanes[lane.id] = MemoryLane(lane, entry.source)
            self._rung(held, entry).add(entry)
            self.messages[entry.message.id] = entry
            placed.append(entry)
        self._ring_for_messages(placed)

    def withhold(self, entries: Iterable[DeliveredMessage]) -> None:
        """Hide messages from readers: copies replace them, or are about to."""
        for entry in self._present(entries):
            self._rungs[entry.message.rung].withhold(entry)

    def offer(self, entries: Iterable[DeliveredMessage]) -> None:
        """Show messages that were withheld to readers again."""
        offered = self._present(entries)
        for entry in offered:
            self._rungs[entry.message.rung].offer(entry)
        self._ring_for_messages(offered)

    def _present(self, entries: Iterable[DeliveredMessage]) -> list[DeliveredMessage]:
        return [entry for entry in entries if self.messages.get(entry.message.id) is entry]

    def drop(self, number: int) -> DeliveredMessage | None:
        """Remove a message."""
        entry = self.messages.pop(number, None)
        if entry is not None:
            self._rungs[entry.message.rung].remove(entry)
            self._forget_empty(entry.message.lane)
        return entry

    def finish(self, numbers: Iterable[int]) -> None:
        """Remove and ack messages whose delivery is recorded. A copy that arrived meanwhile, or
        that is being looked up, is not tried either."""
        for number in numbers:
            self.arriving.discard(number)
            entry = self.drop(number)
            if entry is not None:
                entry.ack_handle.ack()

    def drop_source(self, source: str) -> list[DeliveredMessage]:
        """Remove all messages of a broker queue. Its lanes look paused to their owners."""
        self.close(source)
        gone = [entry for entry in self.messages.values() if entry.source == source]
        for entry in gone:
            _ = self.drop(entry.message.id)  # it is in `gone`
        return gone

    def open(self, source: str) -> None:
        """Let lanes of a broker queue be claimed, and let their owners go on."""
        self.open_sources.add(source)
        self.ring_for(self._of(source))

    def close(self, source: str) -> None:
        """Make the lanes of a broker queue look paused: what is in flight ends, nothing starts."""
        self.open_sources.discard(source)
        for each in self._of(source):
            each.owner_informed = False
        self.ring_for(self._of(source))

    def owners_informed(self, source: str) -> bool:
        """Whether the owners of a closed broker queue's lanes have noticed, and have dropped what
        they had read ahead."""
        return all(each.owner_informed or each.owner is None for each in self._of(source))

    def has_no_owner(self, source: str) -> bool:
        """Whether no lane of a broker queue has an owner."""
        return all(each.owner is None for each in self._of(source))

    def _of(self, source: str) -> list[MemoryLane]:
        return [each for each in self.memory_lanes.values() if each.source == source]

    def _rung(self, held: MemoryLane, entry: DeliveredMessage) -> RungQueue:
        message = entry.message
        key = (message.queue, message.level, entry.envelope.priority)
        rung = held.rungs.get(key)
        if rung is None:
            self._rungs_made += 1
            row = Rung(self._rungs_made, held.lane.id, *key)
            rung = held.rungs[key] = self._rungs[row.id] = RungQueue(row)
        return rung

    def _forget_empty(self, lane: int) -> None:
        held = self.memory_lanes.get(lane)
        if held is not None and held.owner is None and not held.filled:
            del self.memory_lanes[lane]
            for rung in held.rungs.values():
                del self._rungs[rung.row.id]

    # Queues and lanes as they stand in the state store

    def update_queue(self, queue: Queue) -> None:
        """Replace what is known of a queue."""
        self.queues[queue.id] = queue
        self.ring_for(self.memory_lanes[n] for n in queue.lanes if n in self.memory_lanes)

    def update_lane(self, lane: Lane) -> None:
        """Replace what is known of a lane."""
        self.lanes[lane.id] = lane
        held = self.memory_lanes.get(lane.id)
        if held is not None:
            held.lane = lane
            self.ring_for([held])

    # Waking engines

    def ring_for(self, lanes: Iterable[MemoryLane]) -> None:
        """Tell the owners of changed lanes to look again, and pollers that lanes are free."""
        rings: list[Ring] = []
        for each in lanes:
            if each.owner is not None:
                rings.append(Ring(each.owner, each.lane.id, 0, 0, 0))
            else:
                rings += [Ring(None, each.lane.id, 0, *pair) for pair in self._levels(each).items()]
        self._ring(rings)

    def _ring_for_messages(self, entries: Iterable[DeliveredMessage]) -> None:
        rings: dict[int, Ring] = {}
        for entry in entries:
            rung = self._rungs[entry.message.rung]
            ring = self._message_ring(self.memory_lanes[entry.message.lane], rung, entry)
            if ring is not None:
                rings[rung.row.id] = min(ring, rings.get(rung.row.id, ring), key=_at)
        self._ring(list(rings.values()))

    def _message_ring(
        self, held: MemoryLane, rung: RungQueue, entry: DeliveredMessage
    ) -> Ring | None:
        lane, level = held.lane.id, rung.row.level
        gate_ms = queue_gate_ms(self.queues[rung.row.queue])
        if held.owner is None:
            gate_ms = max(gate_ms, self._gate_ms(held))
            level = min(level, LAST_POLLED_LEVEL)
        at_ms = max(entry.message.due_ms, gate_ms)
        return Ring(held.owner, lane, rung.row.id, level, at_ms) if gate_ms < NEVER else None

    def _gate_ms(self, held: MemoryLane) -> int:
        """Nobody may claim the lane before this time."""
        return lane_gate_ms(held.lane) if held.source in self.open_sources else NEVER

    def _ready_ms(self, rung: RungQueue) -> int:
        if not rung.messages:
            return NEVER
        return max(rung.first_due_ms(), queue_gate_ms(self.queues[rung.row.queue]))

    def _levels(self, held: MemoryLane) -> dict[int, int]:
        """When each level of a lane without an owner can be claimed."""
        levels: dict[int, int] = {}
        for rung in held.filled:
            level = min(rung.row.level, LAST_POLLED_LEVEL)
            at_ms = max(self._ready_ms(rung), self._gate_ms(held))
            if at_ms < levels.get(level, NEVER):
                levels[level] = at_ms
        return levels

    # Claiming and reading

    def claim(
        self, owner: int, levels: Levels, pools: Names, limit: int, without: Names, now_ms: int
    ) -> Claim:
        """Give an owner the lanes that are ready at these levels."""
        ready: list[ReadyLane] = []
        next_at_ms = dict.fromkeys(levels, NEVER) if pools else {}
        for number, held in self.memory_lanes.items():
            if held.owner is not None or held.lane.key.pool not in pools:
                continue
            for level, at_ms in self._levels(held).items():
                if level not in next_at_ms:
                    continue
                if at_ms > now_ms:
                    next_at_ms[level] = min(next_at_ms[level], at_ms)
                elif held.lane.key.tenant not in without:
                    ready.append(ReadyLane(at_ms, number, held.lane.key.tenant))
        taken = in_turn(ready, limit)
        lanes = [self._take(self.memory_lanes[number], owner) for number in taken]
        return Claim(lanes, next_at_ms, len(taken) >= limit, self.any_owned)

    @property
    def any_owned(self) -> bool:
        """Whether any lane has an owner."""
        return any(each.owner is not None for each in self.memory_lanes.values())

    def _take(self, held: MemoryLane, owner: int) -> Lane:
        self._epochs += 1
        held.owner, held.epoch = owner, self._epochs
        return held.as_lane()

    def look(self, ask: Look, now_ms: int) -> View:
        """The rungs of a lane that became ready, and the named ones, with their queues. A lane
        that was lost looks paused, so that its worker drops everything."""
        held = self.memory_lanes.get(ask.lane)
        if held is None:
            return View(ask.lane, [], self._named(ask.queues), NEVER, CLOSED, paused=True)
        times = [(self._ready_ms(rung), rung.row) for rung in held.filled]
        rungs = [replace(row, ready_at_ms=at) for at, row in times if ask.after_ms < at <= now_ms]
        seen = {rung.id for rung in rungs}
        named = [self._rungs[n].row for n in ask.rungs if n not in seen and n in self._rungs]
        rungs += [row for row in named if row.lane == ask.lane]
        queues = self._named(dict.fromkeys((*(rung.queue for rung in rungs), *ask.queues)))
        next_at_ms = min((at for at, _ in times if at > now_ms), default=NEVER)
        closed = held.source not in self.open_sources
        held.owner_informed = held.owner_informed or closed
        paused = held.lane.paused or closed
        return View(ask.lane, rungs, queues, next_at_ms, held.lane.circuit, paused)

    def _named(self, numbers: Iterable[int]) -> list[Queue]:
        return [self.queues[number] for number in numbers if number in self.queues]

    def fetch(self, want: Want, now_ms: int) -> Reading:
        """The due messages of a rung, in order."""
        rung = self._rungs.get(want.rung)
        return rung.read(want, now_ms) if rung else Reading(want.rung, [], NEVER, full=False)

    def owns(self, owner: int, lane: int, epoch: int) -> bool:
        """Whether a lane belongs to this owner at this epoch."""
        held = self.memory_lanes.get(lane)
        return held is not None and (held.owner, held.epoch) == (owner, epoch)

    def free(self, lane: int, *, lost: bool = False) -> dict[int, int]:
        """Take a lane from its owner; answers when each of its levels can be claimed."""
        held = self.memory_lanes[lane]
        held.owner = None
        held.crashes = held.crashes + 1 if lost else 0
        levels = self._levels(held)
        self._ring([Ring(None, lane, 0, *pair) for pair in levels.items() if pair[1] < NEVER])
        self._forget_empty(lane)
        return levels

    def owned_by(self, owner: int) -> list[MemoryLane]:
        """The lanes of an owner."""
        return [each for each in self.memory_lanes.values() if each.owner == owner]


def _at(ring: Ring) -> int:
    return ring.at_ms
