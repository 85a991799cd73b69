"""The bell of one process: wake-ups reach its engines after the commit."""

import asyncio
import contextvars
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from postroad.ports.bell import READERS, WAITERS, Listener


class Ring(Struct, frozen=True, array_like=True, gc=False):
    """One wake-up, sent after its transaction: for the owner of a lane, for those who wait to read
    it (READERS) or for an end (WAITERS), or (None) for all pollers."""

    owner: int | None
    lane: int
    rung: int
    level: int
    at_ms: int
    recall: int = 0
    """The id of a message to be cancelled, or LEAVE; then only the lane matters."""


class LocalBell:
    """Wakes the listeners in this process: such a ring cannot be lost."""

    alive = True

    def __init__(self) -> None:
        # Each listener is called in its own context, not in that of the process that committed.
        self._listeners: dict[int, tuple[Listener, contextvars.Context]] = {}
        self._waits: dict[int, set[asyncio.Event]] = {}
        self.readers: dict[int, set[asyncio.Event]] = {}
        self.on_own: dict[str, Callable[[], None]] = {}
        """Who in this process works at campaigns, replays or timetables."""

    def listen(self, owner: int, listener: Listener) -> None:
        """Send wake-ups of this owner to a listener."""
        self._listeners[owner] = (listener, contextvars.copy_context())

    def leave(self, owner: int) -> None:
        """Send this owner no more wake-ups."""
        self._listeners.pop(owner, None)

    @contextmanager
    def waiting(self, number: int) -> Iterator[asyncio.Event]:
        """An event that is set when a message may have ended."""
        rung = asyncio.Event()
        waits = self._waits.setdefault(number, set())
        waits.add(rung)
        try:
            yield rung
        finally:
            waits.discard(rung)
            if not waits:
                self._waits.pop(number, None)

    def want(self, number: int) -> None:
        """All that ends ends in this process."""

    @property
    def awaits(self) -> bool:
        """Whether the end of any message is waited for."""
        return bool(self._waits)

    def ring_awaited(self, numbers: Iterable[int]) -> None:
        """Wake those who wait for the end of messages, of whatever handler."""
        self._wake(numbers)

    def _wake(self, numbers: Iterable[int]) -> None:
        if not self._waits:
            return
        for number in numbers:
            for rung in self._waits.get(number, ()):
                rung.set()

    @property
    def owners(self) -> frozenset[int]:
        """Whose engines run in this process."""
        return frozenset(self._listeners)

    def ring(self, rings: Sequence[Ring]) -> None:
        """Wake the listeners that are concerned."""
        loop = asyncio.get_running_loop()
        for ring in rings:
            if ring.owner is None:
                for listener, context in self._listeners.values():
                    loop.call_soon(listener.on_ready, ring.level, ring.at_ms, context=context)
            elif ring.owner == READERS:
                for event in self.readers.get(ring.lane, ()):
                    event.set()
            elif ring.owner == WAITERS:
                self._wake([ring.lane])
            elif ring.owner in self._listeners and ring.recall:
                listener, context = self._listeners[ring.owner]
                loop.call_soon(listener.on_recall, ring.lane, ring.recall, context=context)
            elif ring.owner in self._listeners:
                listener, context = self._listeners[ring.owner]
                loop.call_soon(listener.on_lane, ring.lane, ring.rung, ring.at_ms, context=context)

    def ring_own(self, kind: str = "") -> None:
        """Wake those here who work at campaigns, replays or timetables, or at all of them."""
        for who, call in list(self.on_own.items()):
            if who.startswith(kind):
                call()

    def ring_expiry(self, at_ms: int) -> None:
        """Tell all listeners when something expires."""
        loop = asyncio.get_running_loop()
        for listener, context in self._listeners.values():
            loop.call_soon(listener.on_expiry, at_ms, context=context)
