"""CancelRounds: messages that are cancelled at the same time are asked about together."""

import asyncio
from typing import Final
from weakref import WeakValueDictionary

from postroad.model.control import CancelState
from postroad.model.errors import PostroadError
from postroad.ports.store import Store

ROUND_MAX: Final = 500
"""Messages that one transaction cancels; other writers go between two of them."""


class CancelRounds:
    """One round at a time asks the store: who comes meanwhile goes with the next one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lines: WeakValueDictionary[tuple[str, bool], RoundQueue] = WeakValueDictionary()

    async def ask(self, tenant: str, number: int, *, running: bool) -> CancelState:
        """Cancel a message, or ask the owner of its lane to; with `running`, to stop its try."""
        line = self._lines.setdefault((tenant, running), RoundQueue())
        mine = line.join(number)
        async with line.turn:
            if mine.answer is None:  # else another one of this round has asked
                line.close(mine)
                mine.answer = await self._answer(tenant, sorted(mine.numbers), running=running)
        if isinstance(mine.answer, PostroadError):
            raise mine.answer
        return mine.answer[number]

    async def _answer(
        self, tenant: str, numbers: list[int], *, running: bool
    ) -> dict[int, CancelState] | PostroadError:
        try:
            return await self._store.cancel(tenant, numbers, running=running)
        except PostroadError as error:  # it is the answer to all of the round
            return error


class _Round:
    """Some messages, and what the store answered."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self.answer: dict[int, CancelState] | PostroadError | None = None


class RoundQueue:
    """Those who cancel messages of one tenant in the same way; it goes with the last of them."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self._next = _Round()

    def join(self, number: int) -> _Round:
        """Add a message to the next round."""
        if len(self._next.numbers) >= ROUND_MAX:
            self._next = _Round()
        self._next.numbers.add(number)
        return self._next

    def close(self, one: _Round) -> None:
        """Nobody joins this round any more."""
        if self._next is one:
            self._next = _Round()
