"""RungBuffer: the messages read ahead of one rung, and where reading goes on."""

from collections import deque
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from postroad.model.entities import Message, Rung
from postroad.model.record import Reading, Want

START: Final = (-1, -1)
NO_IDS: Final[set[int]] = set()
"""Shared by all rungs without such messages; nothing is ever added to it."""
EMPTY: Final[deque[Message]] = deque()
"""Shared by all rungs with nothing read ahead and nothing more to read; nothing is ever added."""


class RungBuffer(Struct, gc=False, eq=False):
    """A copy of the first messages of a rung. While a reading is under way the store may change:
    what is recorded or added meanwhile is noted, so that an old answer does no harm."""

    row: Rung
    ordered: bool
    messages: deque[Message] = field(default_factory=lambda: EMPTY)
    complete: bool = False
    """The store has nothing more of it that is due."""
    head_open: bool = False
    """Ordered: its head has started and is not recorded yet; nothing else of it may go."""
    asking: bool = False
    _recorded_meanwhile: set[int] = field(default_factory=lambda: NO_IDS)
    """Recorded while a reading was under way, which may still show them."""
    _cursor: tuple[int, int] = START
    _changes: int = 0
    _forgotten: int = 0
    _rewound: bool = False
    """Whether a message was added before the cursor while a reading was under way."""
    _asked: tuple[int, int] = (0, 0)

    def to_be_read(self, low: int) -> bool:
        """Whether it may have more and is running low."""
        waits = self.complete or self.asking or self.head_open
        return not waits and len(self.messages) <= low

    def added(self, due_ms: int) -> None:
        """Note that a message was added: there is more to read, perhaps before the cursor."""
        self._changes += 1
        self.complete = False
        if due_ms <= self._cursor[0] or self.ordered:
            self._cursor = START
            self._rewound = True

    def want(self, limit: int) -> Want:
        """The question for the next ones."""
        self.asking = True
        self._rewound = False
        self._asked = (self._changes, self._forgotten)
        place, number = self._cursor
        return Want(self.row.id, place, number, limit)

    def begin(self, reading: Reading) -> None:
        """Take in its first messages, before anything was started or asked for."""
        self.messages = deque(reading.messages) or EMPTY
        self.complete = not reading.full
        if reading.messages:
            last = reading.messages[-1]
            self._cursor = (last.place, last.id)

    def read(self, reading: Reading, open_ids: Mapping[int, object]) -> None:
        """Take in an answer, but for messages that are open: in flight or not recorded yet."""
        self.asking = False
        recorded, self._recorded_meanwhile = self._recorded_meanwhile, NO_IDS
        changes, forgotten = self._asked
        if forgotten != self._forgotten:
            return  # asked before the rung was given up; what it says may be old
        started = open_ids.keys() | recorded if recorded else open_ids
        if self.ordered and any(message.id in started for message in reading.messages):
            return  # its head is not settled: what lies behind it must not look like the head
        fresh = [message for message in reading.messages if message.id not in started]
        if self.messages:
            fresh = self._drop_replaced(fresh)
        if self.messages:
            self.messages.extend(fresh)
        else:
            self.messages = deque(fresh) or EMPTY
        if self._cursor == START and len(fresh) < len(self.messages):
            # What was added lies before what is read already.
            self.messages = deque(sorted(self.messages, key=lambda m: (m.place, m.id)))
        if reading.messages and not self._rewound:
            last = reading.messages[-1]
            self._cursor = (last.place, last.id)
        if changes == self._changes:
            self.complete = not reading.full

    def take(self) -> Message:
        """The first message, which goes now."""
        message = self.messages.popleft()
        if self.complete and not self.messages:
            self.messages = EMPTY
        return message

    def _drop_replaced(self, read: list[Message]) -> list[Message]:
        """Those that are not in the buffer. One that is there at another place expired and was
        replayed since: its old copy is dropped."""
        places = {message.id: message.place for message in self.messages}
        fresh = [message for message in read if places.get(message.id) != message.place]
        for message in fresh:
            if message.id in places:
                _ = self.withdraw(frozenset([message.id]))  # it is there: see above
        return fresh

    def free_head(self) -> None:
        """Let the next one go: the head of the order group is settled or withdrawn."""
        self.head_open = False

    def settled(self, number: int) -> None:
        """The store knows all about a message that was open."""
        self.head_open = False
        if self.asking:
            self.recorded(number)

    def recorded(self, *numbers: int) -> None:
        """The store changed them; a reading under way may still show them as they were."""
        if self.asking:
            self._recorded_meanwhile = self._recorded_meanwhile or set()
            self._recorded_meanwhile.update(numbers)

    def withdraw(self, numbers: frozenset[int]) -> bool:
        """Drop messages that are not to be started; whether any was here."""
        before = len(self.messages)
        if before:
            self.messages = deque(m for m in self.messages if m.id not in numbers) or EMPTY
        return len(self.messages) < before

    def take_marked(self, least: int) -> list[Message]:
        """Remove and answer messages that were started in so many lost leases."""
        found = [message for message in self.messages if message.marks >= least]
        self.messages = deque(m for m in self.messages if m.marks < least) or EMPTY
        return found

    def forget(self) -> None:
        """Drop everything: the rung is read from the start when there is a reason to."""
        self.messages = EMPTY
        self._cursor = START
        self._forgotten += 1
        self.complete = True
