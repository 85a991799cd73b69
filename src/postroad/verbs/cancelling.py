"""Cancelling all messages of a queue, in slices, and counting what became of them."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from itertools import islice
from typing import Final

from postroad.model.control import CancelledAll, CancelState, Cursor, MessageFilter
from postroad.ports.store import Store

SLICE: Final = 500
"""Messages that one transaction cancels; other writers go between two of them."""
WINDOW: Final = 2_000
"""Maximum of messages whose lane owners have not answered; then the walk waits."""
ASK_S, ASK_MAX_S = 0.05, 0.5

LastTries = Callable[[Collection[int]], set[int]]
"""Tells which of some messages this process is trying for the last time."""


class CancelAll:
    """One call of `cancel_all`. It cancels what was accepted before it began. A message that is
    tried meanwhile may move behind the walk, so it walks again until it finds nothing new."""

    def __init__(
        self,
        store: Store,
        which: MessageFilter,
        last_tries: LastTries,
        wait_s: float,
    ) -> None:
        self._store = store
        self._which = which
        self._last_tries = last_tries
        self._wait_s = wait_s
        self._answered_s = store.clock.steady_s()
        self._counts: Counter[CancelState] = Counter()
        self._waiting: dict[int, None] = {}
        self._sending: set[int] = set()
        self._ask_s = ASK_S

    @property
    def counted(self) -> CancelledAll:
        """The counts so far."""
        done = self._counts
        return CancelledAll(
            cancelled=done[CancelState.cancelled],
            sending=len(self._sending),
            pending=len(self._waiting),
            final=done[CancelState.final],
        )

    async def steps(self) -> AsyncIterator[CancelledAll]:
        """Yield the counts after each slice. The last ones are the answer: every message has a
        result, or time is up."""
        found_new = True
        while found_new:
            found_new = False
            after: Cursor | None = Cursor()
            while after is not None:
                found = await self._store.cancel_some(self._which, after, SLICE)
                after = found.after
                new = found.states.keys() - self._waiting.keys() - self._sending
                self._take((number, found.states[number]) for number in new)
                found_new = found_new or bool(new)
                yield self.counted
                while len(self._waiting) > WINDOW and self._in_time:
                    await self._ask_again()
                    yield self.counted
        while self._waiting and self._in_time:
            await self._ask_again()
            yield self.counted
        # What was under way may have ended since.
        await self._ask([*self._waiting, *self._sending])
        yield self.counted

    @property
    def _in_time(self) -> bool:
        """Whether an owner has answered within the waiting time."""
        return self._store.clock.steady_s() < self._answered_s + self._wait_s

    async def _ask_again(self) -> None:
        """Ask again what owners were asked for; at longer intervals while none answers."""
        await self._store.clock.sleep(self._ask_s)
        before = len(self._waiting)
        await self._ask(list(islice(self._waiting, WINDOW)))
        moved = len(self._waiting) < before
        self._ask_s = ASK_S if moved else min(2 * self._ask_s, ASK_MAX_S)

    async def _ask(self, numbers: list[int]) -> None:
        for start in range(0, len(numbers), SLICE):
            part = numbers[start : start + SLICE]
            self._take((await self._store.cancel(self._which.tenant, part)).items())

    def _take(self, states: Iterable[tuple[int, CancelState]]) -> None:
        pending: list[int] = []
        for number, state in states:
            if state is CancelState.pending:
                pending.append(number)
                continue
            if number in self._waiting:
                del self._waiting[number]
                self._answered_s = self._store.clock.steady_s()
            self._sending.discard(number)
            if state is not CancelState.unknown:
                self._counts[state] += 1
        sending = self._last_tries(pending) if pending else set()
        for number in pending:
            if number in sending:
                self._waiting.pop(number, None)
                self._sending.add(number)
            else:
                self._sending.discard(number)
                self._waiting[number] = None
