"""What this process was given by the broker and has not settled, as lanes and rungs. No I/O.

The engine claims, looks and fetches here as it does in a database. Who owns a lane is told apart
inside this process alone: which process has a lane at all is decided by who consumes its line.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from postroad.model.circuit import CLOSED
from postroad.model.entities import Lane, Queue, Rung
from postroad.model.ladder import LAST_POLLED_LEVEL
from postroad.model.record import Claim, Look, Reading, View, Want
from postroad.model.states import NEVER
from postroad.model.turn import Ready, in_turn
from postroad.stores.rabbitmq.consuming.delivery import DeliveredMessage, MemoryLane, RungQueue
from postroad.stores.rabbitmq.delays.gates import lane_gate_ms, queue_gate_ms
from postroad.stores.sqlite.bell import Ring


class DeliveredMessages:
    """Lanes by number, messages by id. `ring` is told whom a change concerns."""

    def __init__(self, ring: Callable[[list[Ring]], None]) -> None:
        self.entries: dict[int, DeliveredMessage] = {}
        self.memory_lanes: dict[int, MemoryLane] = {}
        self.queues: dict[int, Queue] = {}
        self.lanes: dict[int, Lane] = {}
        """How all lanes stand that were ever of interest here."""
        self.open_sources: set[str] = set()
        self.arriving: set[int] = set()
        """Messages of which copies are being looked at, and may soon be here."""
        self._ring = ring
        self._rung_queues: dict[int, RungQueue] = {}
        self._rungs_made = 0
        self._epochs = 0

    # What comes and goes

    def put(self, entries: Iterable[DeliveredMessage]) -> None:
        """Messages of known queues and lanes, none of which is here."""
        placed: list[DeliveredMessage] = []
        for entry in entries:
            lane = self.lanes[entry.message.lane]
            memory_lane = self.memory_lanes.get(lane.id)
            if memory_lane is None:
                memory_lane = self.memory_lanes[lane.id] = MemoryLane(lane, entry.source)
            self._rung_queue(memory_lane, entry).add(entry)
            self.entries[entry.message.id] = entry
            placed.append(entry)
        self._tell(placed)

    def withhold(self, entries: Iterable[DeliveredMessage]) -> None:
        """These are not to be tried: copies take their place, or are about to."""
        for entry in self._here(entries):
            self._rung_queues[entry.message.rung].withhold(entry)

    def offer(self, entries: Iterable[DeliveredMessage]) -> None:
        """These were withheld, and may be tried after all."""
        offered = self._here(entries)
        for entry in offered:
            self._rung_queues[entry.message.rung].offer(entry)
        self._tell(offered)

    def _here(self, entries: Iterable[DeliveredMessage]) -> list[DeliveredMessage]:
        return [entry for entry in entries if self.entries.get(entry.message.id) is entry]

    def _tell(self, entries: Iterable[DeliveredMessage]) -> None:
        rings: dict[int, Ring] = {}
        for entry in entries:
            memory_lane, rung_queue = (
                self.memory_lanes[entry.message.lane],
                self._rung_queues[entry.message.rung],
            )
            ring = self._told(memory_lane, rung_queue, entry.message.due_ms)
            if ring is not None:
                rings[rung_queue.row.id] = min(ring, rings.get(rung_queue.row.id, ring), key=_at)
        self._ring(list(rings.values()))

    def drop(self, number: int) -> DeliveredMessage | None:
        """A message is here no longer."""
        entry = self.entries.pop(number, None)
        if entry is not None:
            self._rung_queues[entry.message.rung].remove(entry)
            self._forget_empty(entry.message.lane)
        return entry

    def finish(self, numbers: Iterable[int]) -> None:
        """These were delivered, it is written: no copy is to be tried, neither one that came
        meanwhile nor one that is being looked at."""
        for number in numbers:
            self.arriving.discard(number)
            entry = self.drop(number)
            if entry is not None:
                entry.ack_handle.ack()

    def drop_source(self, source: str) -> list[DeliveredMessage]:
        """All messages of a line are here no longer; its lanes look paused to their owners."""
        self.close(source)
        gone = [entry for entry in self.entries.values() if entry.source == source]
        for entry in gone:
            _ = self.drop(entry.message.id)  # it is known here
        return gone

    def open(self, source: str) -> None:
        """Lanes of a line may be claimed, and those that are owned go on."""
        self.open_sources.add(source)
        self.ring_for(
            memory_lane
            for memory_lane in self.memory_lanes.values()
            if memory_lane.source == source
        )

    def close(self, source: str) -> None:
        """Lanes of a line look paused from now on: what is in flight ends, nothing starts."""
        self.open_sources.discard(source)
        memory_lanes = [
            memory_lane
            for memory_lane in self.memory_lanes.values()
            if memory_lane.source == source
        ]
        for memory_lane in memory_lanes:
            memory_lane.owner_informed = False
        self.ring_for(memory_lanes)

    def owners_informed(self, source: str) -> bool:
        """Whether the owners of a closed line's lanes know it, and have let go of what they had
        read ahead."""
        return all(
            s.owner_informed or s.owner is None
            for s in self.memory_lanes.values()
            if s.source == source
        )

    def has_no_owner(self, source: str) -> bool:
        """Whether nobody owns a lane of a line."""
        return not any(
            s.owner is not None for s in self.memory_lanes.values() if s.source == source
        )

    def _rung_queue(self, memory_lane: MemoryLane, entry: DeliveredMessage) -> RungQueue:
        message = entry.message
        key = (message.queue, message.level, entry.envelope.priority)
        rung_queue = memory_lane.rung_queues.get(key)
        if rung_queue is None:
            self._rungs_made += 1
            row = Rung(self._rungs_made, memory_lane.lane.id, *key)
            rung_queue = memory_lane.rung_queues[key] = self._rung_queues[row.id] = RungQueue(row)
        return rung_queue

    def _forget_empty(self, lane: int) -> None:
        memory_lane = self.memory_lanes.get(lane)
        if memory_lane is not None and memory_lane.owner is None and not memory_lane.filled:
            del self.memory_lanes[lane]
            for rung_queue in memory_lane.rung_queues.values():
                del self._rung_queues[rung_queue.row.id]

    # What is known of queues and lanes

    def update_queue(self, queue: Queue) -> None:
        """How a queue stands from now on."""
        self.queues[queue.id] = queue
        self.ring_for(self.memory_lanes[n] for n in queue.lanes if n in self.memory_lanes)

    def update_lane(self, lane: Lane) -> None:
        """How a lane stands from now on."""
        self.lanes[lane.id] = lane
        memory_lane = self.memory_lanes.get(lane.id)
        if memory_lane is not None:
            memory_lane.lane = lane
            self.ring_for([memory_lane])

    def ring_for(self, memory_lanes: Iterable[MemoryLane]) -> None:
        """Something about these lanes changed: their owners look again, or they can be claimed."""
        rings: list[Ring] = []
        for memory_lane in memory_lanes:
            if memory_lane.owner is not None:
                rings.append(Ring(memory_lane.owner, memory_lane.lane.id, 0, 0, 0))
            else:
                rings += [
                    Ring(None, memory_lane.lane.id, 0, *pair)
                    for pair in self._levels(memory_lane).items()
                ]
        self._ring(rings)

    def gate_ms(self, memory_lane: MemoryLane) -> int:
        """Before this time the lane is nobody's."""
        return lane_gate_ms(memory_lane.lane) if memory_lane.source in self.open_sources else NEVER

    def _ready_ms(self, rung_queue: RungQueue) -> int:
        if not rung_queue.entries:
            return NEVER
        return max(rung_queue.first_due_ms(), queue_gate_ms(self.queues[rung_queue.row.queue]))

    def _levels(self, memory_lane: MemoryLane) -> dict[int, int]:
        """When each level of a lane that nobody owns can be claimed."""
        levels: dict[int, int] = {}
        for rung_queue in memory_lane.filled:
            level = min(rung_queue.row.level, LAST_POLLED_LEVEL)
            at_ms = max(self._ready_ms(rung_queue), self.gate_ms(memory_lane))
            if at_ms < levels.get(level, NEVER):
                levels[level] = at_ms
        return levels

    def _told(self, memory_lane: MemoryLane, rung_queue: RungQueue, due_ms: int) -> Ring | None:
        lane, level = memory_lane.lane.id, rung_queue.row.level
        gate_ms = queue_gate_ms(self.queues[rung_queue.row.queue])
        if memory_lane.owner is None:
            gate_ms = max(gate_ms, self.gate_ms(memory_lane))
            level = min(level, LAST_POLLED_LEVEL)
        at_ms = max(due_ms, gate_ms)
        return (
            Ring(memory_lane.owner, lane, rung_queue.row.id, level, at_ms)
            if gate_ms < NEVER
            else None
        )

    # Owning and reading

    def claim(
        self,
        owner: int,
        levels: Sequence[int],
        pools: Sequence[str],
        limit: int,
        without: Sequence[str],
        now_ms: int,
    ) -> Claim:
        """Own lanes that are ready at these levels, of those that the broker brought."""
        ready: list[Ready] = []
        next_at_ms = dict.fromkeys(levels, NEVER) if pools else {}
        for number, memory_lane in self.memory_lanes.items():
            if memory_lane.owner is not None or memory_lane.lane.key.pool not in pools:
                continue
            for level, at_ms in self._levels(memory_lane).items():
                if level not in next_at_ms:
                    continue
                if at_ms > now_ms:
                    next_at_ms[level] = min(next_at_ms[level], at_ms)
                elif memory_lane.lane.key.tenant not in without:
                    ready.append(Ready(at_ms, number, memory_lane.lane.key.tenant))
        taken = in_turn(ready, limit)
        lanes = [self._take(self.memory_lanes[number], owner) for number in taken]
        owned = any(memory_lane.owner is not None for memory_lane in self.memory_lanes.values())
        return Claim(lanes, next_at_ms, len(taken) >= limit, owned)

    def _take(self, memory_lane: MemoryLane, owner: int) -> Lane:
        self._epochs += 1
        memory_lane.owner, memory_lane.epoch = owner, self._epochs
        return memory_lane.as_lane()

    def look(self, ask: Look, now_ms: int) -> View:
        """The rungs of a lane that became ready, and the named ones, with their queues. A lane
        that was lost looks paused: its worker lets go of everything."""
        memory_lane = self.memory_lanes.get(ask.lane)
        if memory_lane is None:
            return View(ask.lane, [], self._named(ask.queues), NEVER, CLOSED, paused=True)
        times = [(self._ready_ms(rung_queue), rung_queue.row) for rung_queue in memory_lane.filled]
        rungs = [replace(row, ready_at_ms=at) for at, row in times if ask.after_ms < at <= now_ms]
        seen = {rung.id for rung in rungs}
        named = [
            self._rung_queues[n].row for n in ask.rungs if n not in seen and n in self._rung_queues
        ]
        rungs += [row for row in named if row.lane == ask.lane]
        queues = self._named(dict.fromkeys((*(rung.queue for rung in rungs), *ask.queues)))
        next_at_ms = min((at for at, _ in times if at > now_ms), default=NEVER)
        closed = memory_lane.source not in self.open_sources
        memory_lane.owner_informed = memory_lane.owner_informed or closed
        paused = memory_lane.lane.paused or closed
        return View(ask.lane, rungs, queues, next_at_ms, memory_lane.lane.circuit, paused)

    def _named(self, numbers: Iterable[int]) -> list[Queue]:
        return [self.queues[number] for number in numbers if number in self.queues]

    def fetch(self, want: Want, now_ms: int) -> Reading:
        """Due messages of a rung, in order."""
        rung_queue = self._rung_queues.get(want.rung)
        if rung_queue is None:
            return Reading(want.rung, [], NEVER, full=False)
        return rung_queue.read(want, now_ms)

    def owns(self, owner: int, lane: int, epoch: int) -> bool:
        """Whether a lane is this owner's at this epoch."""
        memory_lane = self.memory_lanes.get(lane)
        return memory_lane is not None and (memory_lane.owner, memory_lane.epoch) == (owner, epoch)

    def free(self, lane: int, *, lost: bool = False) -> dict[int, int]:
        """Nobody owns a lane any more; answers when each of its levels can be claimed."""
        memory_lane = self.memory_lanes[lane]
        memory_lane.owner = None
        memory_lane.crashes = memory_lane.crashes + 1 if lost else 0
        levels = self._levels(memory_lane)
        self._ring([Ring(None, lane, 0, *pair) for pair in levels.items() if pair[1] < NEVER])
        self._forget_empty(lane)
        return levels

    def owned_by(self, owner: int) -> list[MemoryLane]:
        """The lanes of an owner."""
        return [
            memory_lane for memory_lane in self.memory_lanes.values() if memory_lane.owner == owner
        ]


def _at(ring: Ring) -> int:
    return ring.at_ms
