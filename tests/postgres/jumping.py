"""A loop in which an hour of waiting takes a second: where nothing is under way time jumps to the
next timer, and while a server is asked it goes as it does."""

import asyncio
import selectors
import time
from collections.abc import Callable
from typing import Any

SETTLE_S = 0.005
"""So long after the last word of any server: what it set off in another one may be on its way."""


class JumpingSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.ahead_s = 0.0
        self.busy: Callable[[], bool] = lambda: True
        """Whether an answer is awaited."""
        self._heard_s = time.monotonic()

    def select(self, timeout: float | None = None) -> Any:
        busy = self.busy()
        events = super().select(timeout if busy else 0)
        now_s = time.monotonic()
        if events or busy:
            self._heard_s = now_s
        if events or busy or timeout is None or timeout <= 0:
            return events or super().select(0 if busy else timeout)
        if now_s - self._heard_s < SETTLE_S:
            return super().select(min(timeout, SETTLE_S))
        self.ahead_s += timeout
        return []


class JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = JumpingSelector()
        super().__init__(self.selector)

    def time(self) -> float:
        return time.monotonic() + self.selector.ahead_s
