"""A listener that remembers what it heard."""

import asyncio
from collections.abc import Callable

PATIENCE_S = 60.0
"""A ring may have to come from a server; on SQLite it is there before the answer."""


class Heard:
    """What the bell said."""

    def __init__(self) -> None:
        self.ready: list[tuple[int, int]] = []
        self.lane: list[tuple[int, int, int]] = []
        self.expiry: list[int] = []
        self.recall: list[tuple[int, int]] = []
        self._news = asyncio.Event()

    def on_ready(self, level: int, at_ms: int) -> None:
        self.ready.append((level, at_ms))
        self._news.set()

    def on_recall(self, lane: int, number: int) -> None:
        self.recall.append((lane, number))
        self._news.set()

    def on_lane(self, lane: int, rung: int, due_ms: int) -> None:
        self.lane.append((lane, rung, due_ms))
        self._news.set()

    def on_expiry(self, at_ms: int) -> None:
        self.expiry.append(at_ms)
        self._news.set()

    def holds(self, lane: int, number: int) -> bool:  # noqa: ARG002 - a bell without an engine
        return False

    def forget(self) -> None:
        self.ready.clear()
        self.lane.clear()
        self.expiry.clear()

    async def until(self, heard: Callable[[], bool]) -> None:
        """Wait until that was heard, or fail saying what was."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not heard():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(
                f"heard only ready={self.ready} lane={self.lane} expiry={self.expiry}"
            ) from None
