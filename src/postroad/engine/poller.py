"""Pollers: one per retry level. Each claims ready lanes when the bell rings, when the next lane is
due, and at the latest after its interval."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from postroad.model.errors import StoreError
from postroad.model.ladder import LAST_POLLED_LEVEL
from postroad.model.limits import Limits
from postroad.model.record import Claim
from postroad.model.states import NEVER
from postroad.ports.clock import Timer
from postroad.ports.log import Log
from postroad.ports.store import Store

RETRY_S = 1.0
CLAIM = "claim lanes"


class Poller:
    """Waits for work at one level."""

    def __init__(self, level: int, store: Store, interval_s: float) -> None:
        self.level = level
        self._store = store
        self._interval_ms = int(interval_s * 1000)
        self._bell = asyncio.Event()
        self._timer: Timer | None = None
        self._next_at_ms = NEVER

    def ring(self, at_ms: int) -> None:
        """Claim at that time: something of this level is ready."""
        if at_ms >= self._next_at_ms:
            return
        self._next_at_ms = at_ms
        self._cancel()
        self._timer = self._store.clock.later(
            max(0, at_ms - self._store.clock.now_ms()), self._bell.set
        )

    async def due(self) -> None:
        """Wait until the bell rings or the next due time comes; without a bell, until the interval
        is over."""
        if not self._store.bell.alive:
            self.ring(self._store.clock.now_ms() + self._interval_ms)
        await self._bell.wait()
        self.forget()

    def forget(self) -> None:
        """Drop the next due time: a claim is about to bring a new one."""
        self._bell.clear()
        self._next_at_ms = NEVER
        self._cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Pollers:
    """The pollers of all levels, and the safety poll for all while the bell is alive."""

    def __init__(
        self,
        store: Store,
        limits: Limits,
        log: Log,
        claim: Callable[[Sequence[int], Callable[[], None]], Awaitable[Claim]],
        after: Callable[[], None],
    ) -> None:
        self._store = store
        self._limits = limits
        self._log = log
        self._claim = claim
        self._after = after
        self.levels = [
            Poller(level, store, interval_s)
            for level, interval_s in enumerate(limits.poll_intervals_s)
        ]
        self.claiming = 0

    def ring(self, level: int, at_ms: int) -> None:
        """An unowned lane is ready at this level from a time on."""
        self.levels[min(level, len(self.levels) - 1)].ring(at_ms)

    async def run_level(self, level: int) -> None:
        """Claim what is ready at one level, whenever something is."""
        poller = self.levels[level]
        while True:
            await poller.due()
            await self.drain(self._served(level))

    def _served(self, level: int) -> Sequence[int]:
        """The last poller serves all higher levels too."""
        last = level == len(self.levels) - 1
        return range(level, LAST_POLLED_LEVEL + 1) if last else [level]

    async def run_safety(self) -> None:
        """Claim at all levels from time to time: a ring may have been lost."""
        while True:
            await self.drain_all()
            await self._store.clock.sleep(self._limits.safety_poll_s)

    async def drain_all(self) -> None:
        """Claim whatever is ready at any level."""
        await self.drain(range(LAST_POLLED_LEVEL + 1))

    def _forget(self, levels: Sequence[int]) -> None:
        for level in levels:
            self.levels[min(level, len(self.levels) - 1)].forget()

    async def drain(self, levels: Sequence[int]) -> None:
        """Claim lanes until an answer is not full."""
        self.claiming += 1
        try:
            while True:
                claim = await self._claim(levels, partial(self._forget, levels))
                for level, at_ms in claim.next_at_ms.items():
                    self.ring(level, at_ms)
                if not claim.full:
                    self._log.store_works(CLAIM)
                    return
        except StoreError as error:
            self._log.store_failed(CLAIM, error)
            retry_ms = self._store.clock.now_ms() + int(RETRY_S * 1000)
            for level in levels:
                self.ring(level, retry_ms)
        finally:
            self.claiming -= 1
            self._after()
