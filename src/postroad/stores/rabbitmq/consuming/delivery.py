"""Messages in memory: one entry each, stacked by rung, on the spots of their lanes. No I/O."""

from bisect import bisect_left, bisect_right, insort
from itertools import islice
from typing import Final, Protocol

from msgspec.structs import replace

from postroad.model.entities import Lane, Message, Rung
from postroad.model.record import Reading, Want
from postroad.model.states import NEVER
from postroad.stores.rabbitmq.envelope import Envelope

HOLD_MS: Final = 1_000
"""What may go so soon waits in memory, not in the broker."""
READ_BYTES_MAX: Final = 4 << 20
RungKey = tuple[int, int, int]


class AckHandle(Protocol):
    """One delivery, to be settled. After its link is gone nothing comes of it."""

    @property
    def alive(self) -> bool:
        """Whether its link is still there."""

    def ack(self) -> None:
        """It is done with."""

    def nack(self) -> None:
        """Back to its line."""


class DeliveredMessage:
    """One message in memory."""

    __slots__ = ("ack_handle", "envelope", "message", "republished", "source", "suspect")

    def __init__(
        self, envelope: Envelope, message: Message, ack_handle: AckHandle, source: str
    ) -> None:
        self.envelope = envelope
        self.message = message
        self.ack_handle = ack_handle
        self.source = source
        self.suspect = False
        """It may have killed the process that had it before."""
        self.republished = False
        """A copy that takes its place is in the broker, whether that is noted yet or not."""

    @property
    def written(self) -> bool:
        """Whether the state store has a row of it: it was tried, parked, noted, or sent for
        later."""
        e = self.envelope
        return bool(e.hop or self.message.marks or e.due_ms > e.accepted_at_ms + HOLD_MS)


class RungQueue:
    """The messages of one rung, by due time."""

    __slots__ = ("_keys", "entries", "row")

    def __init__(self, row: Rung) -> None:
        self.row = row
        self.entries: dict[int, DeliveredMessage] = {}
        self._keys: list[tuple[int, int]] = []

    def add(self, entry: DeliveredMessage) -> None:
        """One more."""
        message = entry.message = replace(entry.message, rung=self.row.id)
        self.entries[message.id] = entry
        insort(self._keys, (message.place, message.id))

    def remove(self, entry: DeliveredMessage) -> None:
        """One less."""
        if self.entries.pop(entry.message.id, None) is not None:
            self.withhold(entry)

    def withhold(self, entry: DeliveredMessage) -> None:
        """It is not to be read, until it is offered."""
        key = (entry.message.place, entry.message.id)
        at = bisect_left(self._keys, key)
        if self._keys[at : at + 1] == [key]:
            del self._keys[at]

    def offer(self, entry: DeliveredMessage) -> None:
        """It may be read again."""
        self.withhold(entry)
        insort(self._keys, (entry.message.place, entry.message.id))

    def first_due_ms(self) -> int:
        """When the first of them is due."""
        return self._keys[0][0] if self._keys else NEVER

    def read(self, want: Want, now_ms: int) -> Reading:
        """The due ones after a cursor; one that is not due ends the reading."""
        messages: list[Message] = []
        body_bytes = 0
        start = bisect_right(self._keys, (want.after_place, want.after_id))
        for key in islice(self._keys, start, None):
            if key[0] > now_ms:
                return Reading(want.rung, messages, key[0], full=False)
            if len(messages) >= want.limit or body_bytes > READ_BYTES_MAX:
                return Reading(want.rung, messages, NEVER, full=True)
            message = self.entries[key[1]].message
            messages.append(message)
            body_bytes += len(message.body)
        return Reading(want.rung, messages, NEVER, full=len(messages) >= want.limit)


class MemoryLane:
    """A lane with something in it, or with an owner."""

    __slots__ = ("crashes", "epoch", "lane", "owner", "owner_informed", "rung_queues", "source")

    def __init__(self, lane: Lane, source: str) -> None:
        self.lane = lane
        self.source = source
        self.owner: int | None = None
        self.epoch = 0
        self.crashes = 0
        self.rung_queues: dict[RungKey, RungQueue] = {}
        self.owner_informed = True
        """Whether its owner has looked since its line was closed."""

    @property
    def filled(self) -> list[RungQueue]:
        """Its rungs that have something."""
        return [rung_queue for rung_queue in self.rung_queues.values() if rung_queue.entries]

    def as_lane(self) -> Lane:
        """The lane as its owner gets it; suspect when something in it may have killed a process."""
        suspects = any(e.suspect for rung_queue in self.filled for e in rung_queue.entries.values())
        return replace(self.lane, epoch=self.epoch, crashes=self.crashes + suspects)
