"""The queues of a lane and their turns: a queue with a million waiting gets the same turn as
one with three."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct, field

from postroad.model.block import Block
from postroad.model.entities import Message, Queue, Rung
from postroad.model.record import Reading, Want
from postroad.model.states import NEVER

Admits = Callable[[Message], bool]
START = (-1, -1)
NO_GHOSTS: Final[set[int]] = set()
"""Of all rungs that have no ghosts; nothing is ever added to it."""
EMPTY: Final[deque[Message]] = deque()
"""Of all rungs with nothing read ahead and nothing more to read; nothing is ever added to it."""
RAMP_MS = 60_000


class RungBuffer(Struct, gc=False, eq=False):
    """What was read ahead of one rung, and where reading goes on."""

    row: Rung
    ordered: bool
    buffer: deque[Message] = field(default_factory=lambda: EMPTY)
    dry: bool = False
    busy: bool = False
    """Ordered: its head has started and is not recorded yet."""
    asking: bool = False
    ghosts: set[int] = field(default_factory=lambda: NO_GHOSTS)
    """Recorded while a reading was under way, which may still show them."""
    _cursor: tuple[int, int] = START
    _changes: int = 0
    _forgotten: int = 0
    _rewound: bool = False
    """Rung, while a reading was under way, for something before its cursor."""
    _asked: tuple[int, int] = (0, 0)

    def ring(self, due_ms: int) -> None:
        """Something was added: there is more to read, perhaps before the cursor."""
        self._changes += 1
        self.dry = False
        if due_ms <= self._cursor[0] or self.ordered:
            self._cursor = START
            self._rewound = True

    def want(self, limit: int) -> Want:
        """Ask for the next ones."""
        self.asking = True
        self._rewound = False
        self._asked = (self._changes, self._forgotten)
        place, number = self._cursor
        return Want(self.row.id, place, number, limit)

    def begin(self, reading: Reading) -> None:
        """The first messages of it, before anything was started or asked for."""
        self.buffer = deque(reading.messages) or EMPTY
        self.dry = not reading.full
        if reading.messages:
            last = reading.messages[-1]
            self._cursor = (last.place, last.id)

    def read(self, reading: Reading, known: Mapping[int, object]) -> None:
        """The answer came. `known` ones are in flight or not yet recorded."""
        self.asking = False
        ghosts, self.ghosts = self.ghosts, NO_GHOSTS
        changes, forgotten = self._asked
        if forgotten != self._forgotten:
            return  # asked before the rung was given up; what it says may be old
        started = known.keys() | ghosts if ghosts else known
        if self.ordered and any(message.id in started for message in reading.messages):
            return  # its head is not settled: what lies behind it must not look like the head
        fresh = [message for message in reading.messages if message.id not in started]
        if self.buffer:
            fresh = self._make_way(fresh)
        if self.buffer:
            self.buffer.extend(fresh)
        else:
            self.buffer = deque(fresh) or EMPTY
        if self._cursor == START and len(fresh) < len(self.buffer):
            # What was rung for lies before what is read already.
            self.buffer = deque(sorted(self.buffer, key=lambda m: (m.place, m.id)))
        if reading.messages and not self._rewound:
            last = reading.messages[-1]
            self._cursor = (last.place, last.id)
        if changes == self._changes:
            self.dry = not reading.full

    def take(self) -> Message:
        """The next one goes."""
        message = self.buffer.popleft()
        if self.dry and not self.buffer:
            self.buffer = EMPTY
        return message

    def _make_way(self, read: list[Message]) -> list[Message]:
        """Those that were not read ahead; or were, but expired since and were replayed."""
        ahead = {message.id: message.place for message in self.buffer}
        fresh = [message for message in read if ahead.get(message.id) != message.place]
        for message in fresh:
            if message.id in ahead:
                _ = self.withdraw(frozenset([message.id]))  # it is there: see above
        return fresh

    def ghost(self, *numbers: int) -> None:
        """They are settled; a reading that is under way may still show them as they were."""
        if self.asking:
            self.ghosts = self.ghosts or set()
            self.ghosts.update(numbers)

    def withdraw(self, numbers: frozenset[int]) -> bool:
        """Messages are not to be started; whether one was about to."""
        before = len(self.buffer)
        if before:
            self.buffer = deque(m for m in self.buffer if m.id not in numbers) or EMPTY
        return len(self.buffer) < before

    def take_marked(self, least: int) -> list[Message]:
        """Messages that were started in so many lost leases are not to be started."""
        found = [message for message in self.buffer if message.marks >= least]
        self.buffer = deque(m for m in self.buffer if m.marks < least) or EMPTY
        return found

    def forget(self) -> None:
        """Nothing of it goes for now; it is read from the start when there is a reason to."""
        self.buffer = EMPTY
        self._cursor = START
        self._forgotten += 1
        self.dry = True


class LaneQueue(Struct, gc=False, eq=False):
    """One queue of the lane."""

    queue: Queue
    block: Block | None
    ramp: int
    """After a pause: how many may be in flight, doubled by each success; 0 is no ramp."""
    rungs: dict[int, RungBuffer] = field(default_factory=dict)
    in_flight: int = 0
    listed: bool = False
    unrecorded: int = 0
    """Changes of its hold-off that the store does not know yet."""
    settled_at_look: int = 0

    @classmethod
    def of(cls, queue: Queue, now_ms: int) -> "LaneQueue":
        """As the store tells of it."""
        return cls(queue, queue.block, 1 if queue.resumed_at_ms > now_ms - RAMP_MS else 0)

    def learn(self, queue: Queue, look: int) -> None:
        """What the store says of the queue; its hold-off only if nothing newer is known here."""
        if queue.resumed_at_ms > self.queue.resumed_at_ms:
            self.ramp = 1
        self.queue = queue
        if not self.unrecorded and look > self.settled_at_look:
            self.block = queue.block

    def blocked_until_ms(self) -> int:
        """Before this time nothing of the queue starts."""
        if self.queue.paused:
            return NEVER
        return self.block.until_ms if self.block else 0

    def cap(self, share: int) -> int:
        """How many may be in flight; one while it is not known whether the recipient takes
        any again."""
        if self.block is not None:
            return 1
        return min(share, self.ramp) if self.ramp else share

    def succeeded(self, window: int) -> None:
        """One more of it was delivered."""
        if self.ramp:
            self.ramp = 0 if self.ramp >= window else 2 * self.ramp

    def best(self, admits: Admits) -> RungBuffer | None:
        """The rung whose head goes next: highest priority, then longest due."""
        chosen: RungBuffer | None = None
        for rung in self.rungs.values():
            if not rung.buffer or rung.busy or not admits(rung.buffer[0]):
                continue
            if chosen is None or _order(rung) < _order(chosen):
                chosen = rung
        return chosen

    def startable(self) -> bool:
        """Whether anything of it could go; of an ordered slot only the head, alone."""
        for rung in self.rungs.values():  # noqa: SIM110 - `any` costs three times as much
            if rung.buffer and not rung.busy:
                return True
        return False


def _order(rung: RungBuffer) -> tuple[int, int]:
    return (-rung.row.priority, rung.buffer[0].due_ms)
