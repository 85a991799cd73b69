"""The bell: wake-ups from the store to the engines that listen."""

import asyncio
from contextlib import AbstractContextManager
from typing import Final, Protocol

LEAVE: Final = -1
"""In place of a message to be cancelled: the lane itself is wanted, and given back. A number below
it is that of a message whose running try is to be stopped, too, with its sign changed."""
READERS: Final = 0
"""In place of an owner: a process that waits to read a lane that nobody sends from."""
WAITERS: Final = -1
"""In place of an owner: a process that waits for the end of a message or a batch, which is in place
of the lane."""


class Listener(Protocol):
    """An engine that hears the bell."""

    def on_ready(self, level: int, at_ms: int) -> None:
        """An unowned lane has something at this level, from that time on."""

    def on_lane(self, lane: int, rung: int, due_ms: int) -> None:
        """A lane of yours got a message, or something of it changed (rung 0)."""

    def on_recall(self, lane: int, number: int) -> None:
        """A message of a lane of yours is to be cancelled; LEAVE: the lane is to be given back."""

    def on_expiry(self, at_ms: int) -> None:
        """Something expires then, perhaps sooner than you thought."""

    def holds(self, lane: int, number: int) -> bool:
        """Whether you hold a message of a lane: it is in flight, or not yet recorded."""


class Bell(Protocol):
    """Carries wake-ups. A lost ring costs lateness, never a message."""

    @property
    def alive(self) -> bool:
        """Whether rings are known to arrive; while not, levels are polled by their table."""

    @property
    def readers(self) -> dict[int, set[asyncio.Event]]:
        """Who in this process waits for a message of a lane that is read; set when one comes."""

    def listen(self, owner: int, listener: Listener) -> None:
        """Send wake-ups to this listener from now on."""

    def leave(self, owner: int) -> None:
        """Send no more wake-ups to this owner."""

    def waiting(self, number: int) -> AbstractContextManager[asyncio.Event]:
        """An event that is set, while this is open, when the message may have ended. What is erased
        is not told of."""

    def want(self, number: int) -> None:
        """Ask those who may end the message, in whichever process, to ring for it."""
