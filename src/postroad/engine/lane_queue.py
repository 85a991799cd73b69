"""LaneQueue: one queue of an owned lane: its rungs, its block, and how much of it is in flight."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from postroad.engine.rung_buffer import RungBuffer
from postroad.model.block import Block, BlockKind
from postroad.model.entities import Message, Queue
from postroad.model.states import NEVER

Admits = Callable[[Message], bool]
RAMP_MS: Final = 60_000
"""A queue that was resumed so recently starts with one message at a time."""


class LaneQueue(Struct, gc=False, eq=False):
    """What the lane's owner knows of a queue. LaneCache adds its rungs, LaneSchedule counts what is
    in flight, LaneWorker sets its block. That block may be newer than the store's: the store's is
    not taken over until the change is recorded and a look was made after that."""

    queue: Queue
    block: Block | None
    ramp: int
    """After a pause: how many may be in flight, doubled by each success; 0 is no ramp."""
    rungs: dict[int, RungBuffer] = field(default_factory=dict)
    in_flight: int = 0
    listed: bool = False
    """Whether it is in the schedule's line."""
    _unrecorded: int = 0
    """Changes of its block that the store does not know yet."""
    _recorded_at_look: int = 0

    @classmethod
    def of(cls, queue: Queue, now_ms: int) -> "LaneQueue":
        """A queue as the store describes it."""
        return cls(queue, queue.block, 1 if queue.resumed_at_ms > now_ms - RAMP_MS else 0)

    def learn(self, queue: Queue, look: int) -> None:
        """Take in what the store says; its block only if nothing newer is known here."""
        if queue.resumed_at_ms > self.queue.resumed_at_ms:
            self.ramp = 1
        self.queue = queue
        if not self._unrecorded and look > self._recorded_at_look:
            self.block = queue.block

    def set_block(self, block: Block | None) -> None:
        """Block it, or lift its block; a record writes that to the store."""
        self.block = block
        self._unrecorded += 1

    def block_recorded(self, look: int) -> None:
        """The store has taken a change of its block; looks up to this one may not show it."""
        self._unrecorded -= 1
        self._recorded_at_look = look

    def circuit_closed(self) -> None:
        """The server answers again: a block since it did not is lifted, here as in the store."""
        if self.block and self.block.kind is BlockKind.unreachable:
            self.block = None

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

    def delivered(self, window: int) -> None:
        """One more of it was delivered."""
        if self.ramp:
            self.ramp = 0 if self.ramp >= window else 2 * self.ramp

    def best(self, admits: Admits) -> RungBuffer | None:
        """The rung whose head goes next: highest priority, then longest due."""
        chosen: RungBuffer | None = None
        for rung in self.rungs.values():
            if not rung.messages or rung.head_open or not admits(rung.messages[0]):
                continue
            if chosen is None or _order(rung) < _order(chosen):
                chosen = rung
        return chosen

    def startable(self) -> bool:
        """Whether anything of it could go."""
        for rung in self.rungs.values():  # noqa: SIM110 - `any` costs three times as much
            if rung.messages and not rung.head_open:
                return True
        return False

    def waiting(self) -> int:
        """How many messages were read ahead."""
        return sum(len(rung.messages) for rung in self.rungs.values())


def _order(rung: RungBuffer) -> tuple[int, int]:
    return (-rung.row.priority, rung.messages[0].due_ms)
