"""Pacer: reserves blocks of rate slots in the store, and says when each start may be made."""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from postroad.model.errors import BadInput, StoreError
from postroad.model.pace import AHEAD_US, GRACE_US, NEVER_US, SPREAD_US, Ask, Grant
from postroad.observe.gathering import EventGathering, FirstTimes
from postroad.pacing.store_time import StoreTime
from postroad.ports.clock import Clock, Timer
from postroad.ports.log import Log
from postroad.ports.pace import SlotBlock, Slots

GRACE_S: Final = GRACE_US / 1e6
DOUBT_S: Final = SPREAD_US / 2e6
"""When the store's clock is known less well than this, each block is followed by a gap."""
AHEAD_S: Final = AHEAD_US / 1e6 * 0.6
"""How long before its last slot a reserver asks for more, so that no gap follows it."""
RETRY_S: Final = 1.0
RESERVE: Final = "reserve rate slots"
AGAIN_MAX_S: Final = 30.0
"""During a long wait the store is asked this often: the limit may have been raised, and the ring
lost."""

Answered = Callable[[SlotBlock], None]


class AheadReserver:
    """Reserves slots ahead of time. A slot is spent at its time, or forfeited when it is later than
    the grace."""

    def __init__(
        self, pacer: "Pacer", ledgers: tuple[int, ...], name: str, wake: Callable[[], None]
    ) -> None:
        self._pacer = pacer
        self._clock = pacer.clock
        self._ledgers = ledgers
        self._name = name
        self._wake = wake
        self._slots_s: deque[float] = deque()
        self._asking = False
        self._again_s = 0.0
        self._timer: Timer | None = None
        self._due_s = math.inf

    def ready(self, wanted: Callable[[], int], early_s: float = 0.0) -> bool:
        """Whether a start has its slot now; if not, `wake` is called when to ask again."""
        now_s = self._clock.steady_s()
        slots = self._slots_s
        while slots and slots[0] + GRACE_S < now_s:
            slots.popleft()
            self._pacer.forfeited += 1
        low = not slots or slots[-1] < now_s + AHEAD_S
        if low and not self._asking and now_s >= self._again_s:
            lacking = wanted() - len(slots)
            if lacking > 0:
                self._asking = True
                self._pacer.ask(Ask(self._ledgers, self._name, lacking), self._answered)
        if slots and slots[0] <= now_s + early_s:
            return True
        if slots:
            self._arm(slots[0] - early_s)
        elif not self._asking:
            self._arm(self._again_s)
        return False

    def take(self) -> float:
        """The slot that was ready. When its grace has ended since, the answer is in the past."""
        self._pacer.spent += 1
        return self._slots_s.popleft() if self._slots_s else -math.inf

    def retry(self) -> None:
        """Ask at once."""
        self._again_s = 0.0

    def _answered(self, block: SlotBlock) -> None:
        self._asking = False
        self._slots_s.extend(block.slots_s)
        self._again_s = 0.0 if block.slots_s else block.again_s
        # Wake at once: a lane that notes its starts does so before the slot's time.
        self._arm(self._again_s)

    def _arm(self, due_s: float) -> None:
        """Wake the lane then, unless it is woken sooner: it asks again anyway."""
        if due_s >= self._due_s:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due_s = due_s
        delay_ms = max(1, math.ceil((due_s - self._clock.steady_s()) * 1000))
        self._timer = self._clock.later(delay_ms, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._due_s = math.inf
        self._wake()


class Pacer:
    """Gathers what reservers ask for while one question to the store is under way."""

    def __init__(self, store: Slots, clock: Clock, log: Log) -> None:
        self.clock = clock
        self.spent = 0
        self.forfeited = 0
        self._store = store
        self._log = log
        self._time = StoreTime()
        self._waiting: list[tuple[Ask, Answered]] = []
        self._work = asyncio.Event()
        self._reached = FirstTimes(clock)
        self._gathering = EventGathering(clock)

    def reserver(
        self, ledgers: tuple[int, ...], name: str, wake: Callable[[], None]
    ) -> AheadReserver:
        """A reserver for one who starts one thing after the other."""
        return AheadReserver(self, ledgers, name, wake)

    async def block(
        self, ledgers: tuple[int, ...], name: str, starts: int, cost: int = 0
    ) -> SlotBlock:
        """Reserve one block of slots."""
        answer: asyncio.Future[SlotBlock] = asyncio.get_running_loop().create_future()
        self.ask(Ask(ledgers, name, starts, cost), partial(_resolve, answer))
        block = await answer
        if block.again_s == math.inf:
            raise BadInput(f"a start of cost {cost}: set the limit again with cost={cost} first")
        return block

    def ask(self, ask: Ask, answered: Answered) -> None:
        """Reserve, with all others that ask now."""
        self._waiting.append((ask, answered))
        self._work.set()

    async def on_time(self, slot_s: float) -> bool:
        """Wait for a slot's time; False when it is too late for it."""
        early_s = slot_s - self.clock.steady_s()
        if early_s > 0:
            await self.clock.sleep(early_s)
        if self.clock.steady_s() <= slot_s + GRACE_S:
            return True
        self.forfeited += 1
        return False

    async def run(self) -> None:
        """Ask the store, for as long as the process lives."""
        try:
            while True:
                await self._work.wait()
                self._work.clear()
                await self._answer_all()
        finally:
            self._gathering.close()

    async def _answer_all(self) -> None:
        # Not in `run`, whose variables would keep the last ones that asked until others do.
        if self._time.doubt_s == math.inf:
            _ = await self._reserve([])  # the first answer shows the time of the store
        waiting, self._waiting = self._waiting, []
        blocks = await self._blocks([ask for ask, _ in waiting])
        for (_, answered), block in zip(waiting, blocks, strict=True):
            answered(block)

    async def _blocks(self, asks: list[Ask]) -> list[SlotBlock]:
        doubt_s = self._time.doubt_s
        if doubt_s == math.inf:  # the store is away, and its time is unknown
            return self._none(len(asks))
        gap_us = max(0, round((doubt_s - DOUBT_S) * 1e6))
        return await self._reserve([Ask(a.ledgers, a.name, a.starts, a.cost, gap_us) for a in asks])

    async def _reserve(self, asks: list[Ask]) -> list[SlotBlock]:
        sent_s = self.clock.steady_s()
        try:
            reserved = await self._store.reserve(asks)
        except StoreError as error:
            self._log.store_failed(RESERVE, error)
            # Slots that the store reserved all the same are not used.
            return self._none(len(asks))
        self._log.store_works(RESERVE)
        if self._time.learn(reserved.now_us, sent_s, self.clock.steady_s()):
            for ask, grant in zip(asks, reserved.grants, strict=True):
                if len(grant.at_us) < ask.starts and self._reached.is_first(ask.ledgers):
                    event = "a limit is reached: starts wait for rate slots"
                    self._gathering.add(self._log.info, event, {}, partial(dict, who=ask.name))
            return [self._block(grant) for grant in reserved.grants]
        self._log.warning("the store's clock was changed: the rate slots it gave are not used")
        return self._none(len(asks))

    def _none(self, count: int) -> list[SlotBlock]:
        return [SlotBlock((), self.clock.steady_s() + RETRY_S)] * count

    def _block(self, grant: Grant) -> SlotBlock:
        slots_s = tuple(self._time.here_s(at_us) for at_us in grant.at_us)
        if grant.again_us == NEVER_US:
            return SlotBlock((), math.inf)
        latest_s = self.clock.steady_s() + AGAIN_MAX_S
        return SlotBlock(slots_s, min(latest_s, self._time.here_s(grant.again_us)))


def _resolve(answer: "asyncio.Future[SlotBlock]", block: SlotBlock) -> None:
    if not answer.done():
        answer.set_result(block)
