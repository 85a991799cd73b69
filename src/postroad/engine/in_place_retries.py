"""InPlaceRetries: messages that are tried again before they go back to their rung."""

import heapq
from typing import Final

from msgspec.structs import replace

from postroad.model.entities import Message
from postroad.model.states import NEVER


class InPlaceRetries:
    """A server may be away for a second only. A message that did not reach it waits here for its
    next try, and takes no place in the window meanwhile."""

    __slots__ = ("_tries", "held_up", "unwritten", "waiting")

    def __init__(self) -> None:
        self.waiting: list[tuple[int, int, Message]] = []
        """A heap by (due time, number)."""
        self.held_up = False
        """The first one is due; it waits for capacity or the end of a send, not for a timer."""
        self.unwritten: dict[int, int] = {}
        """Tries in place that are not recorded yet, by message."""
        self._tries: dict[int, int] = {}

    def tries(self, number: int) -> int:
        """How often a message was tried in place so far."""
        return self._tries.get(number, 0)

    def waits(self, number: int) -> bool:
        """Whether a message waits here for its next try."""
        return any(item[1] == number for item in self.waiting)

    def add(self, message: Message, due_ms: int) -> None:
        """One more try failed; the next one is due then."""
        self._tries[message.id] = self.tries(message.id) + 1
        again = replace(message, attempts=message.attempts + 1)
        heapq.heappush(self.waiting, (due_ms, message.id, again))
        self.held_up = False
        self.unwritten[message.id] = self.unwritten.get(message.id, 0) + 1

    def due_ms(self) -> int:
        """When the first one is due."""
        return self.waiting[0][0] if self.waiting else NEVER

    def wake_at_ms(self) -> int:
        """When to ask for the first one, if nothing else comes before."""
        return NEVER if self.held_up else self.due_ms()

    def first(self) -> Message:
        """The first one due."""
        return self.waiting[0][2]

    def take(self) -> Message:
        """The first one goes."""
        return heapq.heappop(self.waiting)[2]

    def ended(self, number: int) -> None:
        """A message got an answer: what was tried before does not count any more."""
        self._tries.pop(number, None)

    def remove(self, number: int) -> Message | None:
        """A message is not to be tried again; None when it does not wait here."""
        found = next((item[2] for item in self.waiting if item[1] == number), None)
        if found is not None:
            self._keep([item for item in self.waiting if item[1] != number])
        return found

    def give_up(self, queue: int | None) -> list[Message]:
        """Those of a queue, or all, go back to their rungs."""
        gone = [item[2] for item in self.waiting if queue in (None, item[2].queue)]
        if gone:
            self._keep([item for item in self.waiting if queue not in (None, item[2].queue)])
        for message in gone:
            self.ended(message.id)
        return gone

    def _keep(self, items: list[tuple[int, int, Message]]) -> None:
        self.waiting = items
        self.held_up = False
        heapq.heapify(self.waiting)


NO_RETRIES: Final = InPlaceRetries()
"""Shared by all lanes that never tried anything in place; nothing is ever added to it."""
