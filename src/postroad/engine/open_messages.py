"""What a lane has in hand: messages in flight, waiting in place, or answered but not written."""

from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from postroad.engine.in_place_retries import NOTHING, InPlaceRetries
from postroad.model.decide import Move, Next
from postroad.model.entities import Message

NOBODY: Final[frozenset[int]] = frozenset()


class OpenMessages(Struct, gc=False, eq=False):
    """Whoever is in `known` is not to be started again from its rung. There are thousands of lanes,
    and most have one message for a moment: what is seldom used is made when it is, and what the
    collector need not walk over is kept from it (sets are walked over, plain dicts are not)."""

    known: dict[int, bool] = field(default_factory=dict)
    """Whether each is in flight."""
    in_place: InPlaceRetries = NOTHING
    _recalled: frozenset[int] = NOBODY

    def first_try(self, number: int) -> bool:
        """Whether it was neither tried in place before nor is to be cancelled."""
        return number not in self._recalled and not self.in_place.tries(number)

    def start(self, number: int) -> None:
        """A try begins."""
        self.known[number] = True

    def flies(self, number: int) -> bool:
        """Whether it is in flight."""
        return self.known.get(number, False)

    def ended(self, number: int) -> None:
        """A try has ended; it is not written yet."""
        self.known[number] = False

    def again(self, message: Message, due_ms: int) -> None:
        """A try failed, and the next one is made in place then."""
        if self.in_place is NOTHING:
            self.in_place = InPlaceRetries()
        self.in_place.add(message, due_ms)

    def gives_back(self, number: int) -> bool:
        """A message that waited in place goes back to its rung: at once, unless the store would
        show it there with its tries of before."""
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
        return not self.flies(number) and not self.in_place.waits(number)

    # Messages that are to be cancelled

    def recall(self, number: int) -> Message | bool:
        """Whether it can be taken out of the store now, and will not start: if it waited in
        place, that message; else its present try is the last one."""
        if self.flies(number):
            self._recalled |= {number}
            return False
        waiting = self.in_place.remove(number)
        if waiting is None and number in self.known:
            return False  # ended, and about to be recorded: ask again
        self.known[number] = False
        return waiting or True

    @property
    def any_recalled(self) -> bool:
        """Whether one is in flight that is not to be tried again: of most lanes none is."""
        return bool(self._recalled)

    def on_last_try(self, number: int) -> bool:
        """Whether it is in flight, and not to be tried again."""
        return number in self._recalled and self.flies(number)

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
        """It is gone from the store, or was never ours to take."""
        if self.gives_back(number):
            self.known.pop(number, None)
