"""OpenMessages: those of a lane that are in flight, wait in place, or are not recorded yet."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from postroad.engine.in_place_retries import NO_RETRIES, InPlaceRetries
from postroad.model.decide import Move, Next
from postroad.model.entities import Message

NOBODY: Final[frozenset[int]] = frozenset()


class OpenMessages(Struct, gc=False, eq=False):
    """A message that is open is not started again from its rung. There are thousands of lanes, and
    most have one open message for a moment: what is seldom used is made when it is needed, and the
    collector has little to walk over (it walks over sets, and not over plain dicts)."""

    ids: dict[int, bool] = field(default_factory=dict)
    """The open messages, and whether each is in flight."""
    in_place: InPlaceRetries = NO_RETRIES
    _recalled: frozenset[int] = NOBODY

    def first_try(self, number: int) -> bool:
        """Whether it was neither tried in place before nor is to be cancelled."""
        return number not in self._recalled and not self.in_place.tries(number)

    def start(self, number: int) -> None:
        """A try begins."""
        self.ids[number] = True

    def is_in_flight(self, number: int) -> bool:
        """Whether it is in flight."""
        return self.ids.get(number, False)

    def add(self, messages: Iterable[Message]) -> None:
        """Messages that are not started, and wait to be recorded."""
        for message in messages:
            self.ids[message.id] = False

    def close(self, number: int) -> None:
        """The store knows all about a message."""
        self.ids.pop(number, None)

    def ended(self, number: int) -> None:
        """A try has ended; it is not written yet."""
        self.ids[number] = False

    def again(self, message: Message, due_ms: int) -> None:
        """A try failed; the next one is made in place, at that time."""
        if self.in_place is NO_RETRIES:
            self.in_place = InPlaceRetries()
        self.in_place.add(message, due_ms)

    def gives_back(self, number: int) -> bool:
        """A message that waited in place goes back to its rung. False while the store would show it
        there without its latest tries: `written` says when it may."""
        self.in_place.ended(number)
        return number not in self.in_place.unwritten

    def written(self, number: int) -> bool:
        """The store knows of one more try in place: True when the message went back to its rung
        meanwhile, and waited for this alone."""
        unwritten = self.in_place.unwritten
        unwritten[number] -= 1
        if unwritten[number]:
            return False
        del unwritten[number]
        return not self.is_in_flight(number) and not self.in_place.waits(number)

    # Messages that are to be cancelled

    def recall(self, number: int) -> Message | bool:
        """Whether it can be taken out of the store now, and will not start: if it waited in
        place, that message; else its present try is the last one."""
        if self.is_in_flight(number):
            self._recalled |= {number}
            return False
        waiting = self.in_place.remove(number)
        if waiting is None and number in self.ids:
            return False  # ended, and about to be recorded: ask again
        self.ids[number] = False
        return waiting or True

    @property
    def any_recalled(self) -> bool:
        """Whether one is in flight that is not to be tried again: of most lanes none is."""
        return bool(self._recalled)

    def on_last_try(self, number: int) -> bool:
        """Whether it is in flight, and not to be tried again."""
        return number in self._recalled and self.is_in_flight(number)

    def was_recalled(self, number: int) -> bool:
        """Whether the try that has ended was the last one; asked once."""
        if number not in self._recalled:
            return False
        self._recalled -= {number}
        return True

    def unless_recalled(self, number: int, after: Next) -> Next:
        """A message that was cancelled while it was tried is not tried again."""
        if not self.was_recalled(number) or after.move in (Move.deliver, Move.die):
            return after
        return replace(after, move=Move.cancel)

    def withdrawn(self, number: int) -> None:
        """Forget a message that is gone from the store, or that was never ours to take."""
        if self.gives_back(number):
            self.close(number)
