"""Turnstile: of tries that end in the same moment only some are decided in one turn of the loop, so
that other tenants' messages do not wait for all of them."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from postroad.engine.capacity import Capacity

AT_ONCE: Final = 2
"""Tries that go on in one turn. What follows the end of one, with the start of the next, takes some
50 µs: slow servers that answered 500 at once made turns of 15 ms (decision 134)."""
ALONE: Final = 16
"""The same while one tenant is alone: the first message of another one comes at any time."""
REST_S: Final = 0.001
"""A turn waits so long while a thread of the store reads. It leaves the interpreter at each row,
and gets it back after a turn: in the turns of 500 tries a read of a millisecond took 30."""
WAITED_S: Final = 0.001
"""A try that was shorter has hardly waited: it did not come with hundreds of others."""


class Turnstile:
    """Lets ended tries go on, a few in each turn, one of each tenant after the other."""

    def __init__(self, capacity: Capacity, is_read: Callable[[], bool]) -> None:
        self._capacity = capacity
        self._is_read = is_read
        """Whether a thread of the store reads now."""
        self._admitted = 0
        """How many went on in this turn."""
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    def is_open(self, took_s: float) -> bool:
        """Whether a try that took so long may go on at once."""
        if took_s < WAITED_S:
            return True
        self._admitted += 1
        if self._admitted == 1:
            asyncio.get_running_loop().call_soon(self._turn)
        return self._admitted <= self._at_once()

    def _at_once(self) -> int:
        return AT_ONCE if self._capacity.in_company else ALONE

    async def wait(self, tenant: str) -> None:
        """Wait for a turn with capacity. A stop may interrupt this wait: the try has ended and its
        result stays."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(tenant, deque()).append(future)
        with suppress(asyncio.CancelledError):
            await future

    def _turn(self) -> None:
        """A new turn: those who wait go first."""
        self._admitted, most = 0, self._at_once()
        while self._lines and self._admitted < most:
            tenant = next(iter(self._lines))
            line = self._lines.pop(tenant)
            future = line.popleft()
            if line:
                self._lines[tenant] = line
            if not future.done():
                future.set_result(None)
                self._admitted += 1
        if self._admitted:
            loop = asyncio.get_running_loop()
            if self._is_read():
                loop.call_later(REST_S, self._turn)
            else:
                loop.call_soon(self._turn)
