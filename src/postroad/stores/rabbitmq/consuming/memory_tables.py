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
from postroad.stores.rabbitmq.consuming.delivery import Entry, Spot, Stack
from postroad.stores.rabbitmq.delays.gates import lane_gate_ms, queue_gate_ms
from postroad.stores.sqlite.bell import Ring


class Table:
    """Lanes by number, messages by id. `ring` is told whom a change concerns."""

    def __init__(self, ring: Callable[[list[Ring]], None]) -> None:
        self.entries: dict[int, Entry] = {}
        self.spots: dict[int, Spot] = {}
        self.queues: dict[int, Queue] = {}
        self.lanes: dict[int, Lane] = {}
        """How all lanes stand that were ever of interest here."""
        self.open_sources: set[str] = set()
        self.arriving: set[int] = set()
        """Messages of which copies are being looked at, and may soon be here."""
        self._ring = ring
        self._stacks: dict[int, Stack] = {}
        self._rungs_made = 0
        self._epochs = 0

    # What comes and goes

    def put(self, entries: Iterable[Entry]) -> None:
        """Messages of known queues and lanes, none of which is here."""
        placed: list[Entry] = []
        for entry in entries:
            lane = self.lanes[entry.message.lane]
            spot = self.spots.get(lane.id)
            if spot is None:
                spot = self.spots[lane.id] = Spot(lane, entry.source)
            self._stack(spot, entry).add(entry)
            self.entries[entry.message.id] = entry
            placed.append(entry)
        self._tell(placed)

    def withhold(self, entries: Iterable[Entry]) -> None:
        """These are not to be tried: copies take their place, or are about to."""
        for entry in self._here(entries):
            self._stacks[entry.message.rung].withhold(entry)

    def offer(self, entries: Iterable[Entry]) -> None:
        """These were withheld, and may be tried after all."""
        offered = self._here(entries)
        for entry in offered:
            self._stacks[entry.message.rung].offer(entry)
        self._tell(offered)

    def _here(self, entries: Iterable[Entry]) -> list[Entry]:
        return [entry for entry in entries if self.entries.get(entry.message.id) is entry]

    def _tell(self, entries: Iterable[Entry]) -> None:
        rings: dict[int, Ring] = {}
        for entry in entries:
            spot, stack = self.spots[entry.message.lane], self._stacks[entry.message.rung]
            ring = self._told(spot, stack, entry.message.due_ms)
            if ring is not None:
                rings[stack.row.id] = min(ring, rings.get(stack.row.id, ring), key=_at)
        self._ring(list(rings.values()))

    def drop(self, number: int) -> Entry | None:
        """A message is here no longer."""
        entry = self.entries.pop(number, None)
        if entry is not None:
            self._stacks[entry.message.rung].remove(entry)
            self._forget_empty(entry.message.lane)
        return entry

    def finish(self, numbers: Iterable[int]) -> None:
        """These were delivered, it is written: no copy is to be tried, neither one that came
        meanwhile nor one that is being looked at."""
        for number in numbers:
            self.arriving.discard(number)
            entry = self.drop(number)
            if entry is not None:
                entry.receipt.ack()

    def drop_source(self, source: str) -> list[Entry]:
        """All messages of a line are here no longer; its lanes look paused to their owners."""
        self.close(source)
        gone = [entry for entry in self.entries.values() if entry.source == source]
        for entry in gone:
            _ = self.drop(entry.message.id)  # it is known here
        return gone

    def open(self, source: str) -> None:
        """Lanes of a line may be claimed, and those that are owned go on."""
        self.open_sources.add(source)
        self.touch(spot for spot in self.spots.values() if spot.source == source)

    def close(self, source: str) -> None:
        """Lanes of a line look paused from now on: what is in flight ends, nothing starts."""
        self.open_sources.discard(source)
        spots = [spot for spot in self.spots.values() if spot.source == source]
        for spot in spots:
            spot.told = False
        self.touch(spots)

    def is_told(self, source: str) -> bool:
        """Whether the owners of a closed line's lanes know it, and have let go of what they had
        read ahead."""
        return all(s.told or s.owner is None for s in self.spots.values() if s.source == source)

    def is_quiet(self, source: str) -> bool:
        """Whether nobody owns a lane of a line."""
        return not any(s.owner is not None for s in self.spots.values() if s.source == source)

    def _stack(self, spot: Spot, entry: Entry) -> Stack:
        message = entry.message
        key = (message.queue, message.level, entry.envelope.priority)
        stack = spot.stacks.get(key)
        if stack is None:
            self._rungs_made += 1
            row = Rung(self._rungs_made, spot.lane.id, *key)
            stack = spot.stacks[key] = self._stacks[row.id] = Stack(row)
        return stack

    def _forget_empty(self, lane: int) -> None:
        spot = self.spots.get(lane)
        if spot is not None and spot.owner is None and not spot.filled:
            del self.spots[lane]
            for stack in spot.stacks.values():
                del self._stacks[stack.row.id]

    # What is known of queues and lanes

    def learn_queue(self, queue: Queue) -> None:
        """How a queue stands from now on."""
        self.queues[queue.id] = queue
        self.touch(self.spots[n] for n in queue.lanes if n in self.spots)

    def learn_lane(self, lane: Lane) -> None:
        """How a lane stands from now on."""
        self.lanes[lane.id] = lane
        spot = self.spots.get(lane.id)
        if spot is not None:
            spot.lane = lane
            self.touch([spot])

    def touch(self, spots: Iterable[Spot]) -> None:
        """Something about these lanes changed: their owners look again, or they can be claimed."""
        rings: list[Ring] = []
        for spot in spots:
            if spot.owner is not None:
                rings.append(Ring(spot.owner, spot.lane.id, 0, 0, 0))
            else:
                rings += [Ring(None, spot.lane.id, 0, *pair) for pair in self._levels(spot).items()]
        self._ring(rings)

    def gate_ms(self, spot: Spot) -> int:
        """Before this time the lane is nobody's."""
        return lane_gate_ms(spot.lane) if spot.source in self.open_sources else NEVER

    def _ready_ms(self, stack: Stack) -> int:
        if not stack.entries:
            return NEVER
        return max(stack.first_due_ms(), queue_gate_ms(self.queues[stack.row.queue]))

    def _levels(self, spot: Spot) -> dict[int, int]:
        """When each level of a lane that nobody owns can be claimed."""
        levels: dict[int, int] = {}
        for stack in spot.filled:
            level = min(stack.row.level, LAST_POLLED_LEVEL)
            at_ms = max(self._ready_ms(stack), self.gate_ms(spot))
            if at_ms < levels.get(level, NEVER):
                levels[level] = at_ms
        return levels

    def _told(self, spot: Spot, stack: Stack, due_ms: int) -> Ring | None:
        lane, level = spot.lane.id, stack.row.level
        gate_ms = queue_gate_ms(self.queues[stack.row.queue])
        if spot.owner is None:
            gate_ms = max(gate_ms, self.gate_ms(spot))
            level = min(level, LAST_POLLED_LEVEL)
        at_ms = max(due_ms, gate_ms)
        return Ring(spot.owner, lane, stack.row.id, level, at_ms) if gate_ms < NEVER else None

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
        for number, spot in self.spots.items():
            if spot.owner is not None or spot.lane.key.pool not in pools:
                continue
            for level, at_ms in self._levels(spot).items():
                if level not in next_at_ms:
                    continue
                if at_ms > now_ms:
                    next_at_ms[level] = min(next_at_ms[level], at_ms)
                elif spot.lane.key.tenant not in without:
                    ready.append(Ready(at_ms, number, spot.lane.key.tenant))
        taken = in_turn(ready, limit)
        lanes = [self._take(self.spots[number], owner) for number in taken]
        owned = any(spot.owner is not None for spot in self.spots.values())
        return Claim(lanes, next_at_ms, len(taken) >= limit, owned)

    def _take(self, spot: Spot, owner: int) -> Lane:
        self._epochs += 1
        spot.owner, spot.epoch = owner, self._epochs
        return spot.as_lane()

    def look(self, ask: Look, now_ms: int) -> View:
        """The rungs of a lane that became ready, and the named ones, with their queues. A lane
        that was lost looks paused: its worker lets go of everything."""
        spot = self.spots.get(ask.lane)
        if spot is None:
            return View(ask.lane, [], self._named(ask.queues), NEVER, CLOSED, paused=True)
        times = [(self._ready_ms(stack), stack.row) for stack in spot.filled]
        rungs = [replace(row, ready_at_ms=at) for at, row in times if ask.after_ms < at <= now_ms]
        seen = {rung.id for rung in rungs}
        named = [self._stacks[n].row for n in ask.rungs if n not in seen and n in self._stacks]
        rungs += [row for row in named if row.lane == ask.lane]
        queues = self._named(dict.fromkeys((*(rung.queue for rung in rungs), *ask.queues)))
        next_at_ms = min((at for at, _ in times if at > now_ms), default=NEVER)
        closed = spot.source not in self.open_sources
        spot.told = spot.told or closed
        paused = spot.lane.paused or closed
        return View(ask.lane, rungs, queues, next_at_ms, spot.lane.circuit, paused)

    def _named(self, numbers: Iterable[int]) -> list[Queue]:
        return [self.queues[number] for number in numbers if number in self.queues]

    def fetch(self, want: Want, now_ms: int) -> Reading:
        """Due messages of a rung, in order."""
        stack = self._stacks.get(want.rung)
        if stack is None:
            return Reading(want.rung, [], NEVER, full=False)
        return stack.read(want, now_ms)

    def owns(self, owner: int, lane: int, epoch: int) -> bool:
        """Whether a lane is this owner's at this epoch."""
        spot = self.spots.get(lane)
        return spot is not None and (spot.owner, spot.epoch) == (owner, epoch)

    def free(self, lane: int, *, lost: bool = False) -> dict[int, int]:
        """Nobody owns a lane any more; answers when each of its levels can be claimed."""
        spot = self.spots[lane]
        spot.owner = None
        spot.crashes = spot.crashes + 1 if lost else 0
        levels = self._levels(spot)
        self._ring([Ring(None, lane, 0, *pair) for pair in levels.items() if pair[1] < NEVER])
        self._forget_empty(lane)
        return levels

    def owned_by(self, owner: int) -> list[Spot]:
        """The lanes of an owner."""
        return [spot for spot in self.spots.values() if spot.owner == owner]


def _at(ring: Ring) -> int:
    return ring.at_ms
