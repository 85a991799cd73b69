"""The bell of one process: rings reach the engines that listen, after the commit."""

import asyncio
import contextvars

from msgspec import Struct

from postroad.ports.bell import Listener


class Ring(Struct, frozen=True):
    """One wake-up, noted inside a transaction and rung after it."""

    owner: int | None
    lane: int
    rung: int
    level: int
    at_ms: int
    recall: int = 0
    """A message to be cancelled; then only the lane counts."""


class LocalBell:
    """All listeners live in this process, so a ring cannot be lost."""

    alive = True

    def __init__(self) -> None:
        # Each listener is called in its own context, not in that of whoever committed.
        self._listeners: dict[int, tuple[Listener, contextvars.Context]] = {}

    def listen(self, owner: int, listener: Listener) -> None:
        """Hear from now on."""
        self._listeners[owner] = (listener, contextvars.copy_context())

    def leave(self, owner: int) -> None:
        """Hear no more."""
        self._listeners.pop(owner, None)

    def ring(self, rings: list[Ring]) -> None:
        """Wake whom it concerns."""
        loop = asyncio.get_running_loop()
        for ring in rings:
            if ring.owner is None:
                for listener, context in self._listeners.values():
                    loop.call_soon(listener.on_ready, ring.level, ring.at_ms, context=context)
            elif ring.owner in self._listeners and ring.recall:
                listener, context = self._listeners[ring.owner]
                loop.call_soon(listener.on_recall, ring.lane, ring.recall, context=context)
            elif ring.owner in self._listeners:
                listener, context = self._listeners[ring.owner]
                loop.call_soon(listener.on_lane, ring.lane, ring.rung, ring.at_ms, context=context)

    def ring_expiry(self, at_ms: int) -> None:
        """Something expires then."""
        loop = asyncio.get_running_loop()
        for listener, context in self._listeners.values():
            loop.call_soon(listener.on_expiry, at_ms, context=context)
