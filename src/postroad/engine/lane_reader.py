"""LaneReader: what several lanes ask in one turn becomes one question to the store."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from postroad.engine.attempt_effects import AttemptEffects
from postroad.engine.lane_worker import LaneWorker
from postroad.model.errors import StoreError
from postroad.model.record import Look, Reading, View, Want
from postroad.ports.log import Log
from postroad.ports.store import Store

T = TypeVar("T")
RETRY_S: Final = 1.0
READ: Final = "read lanes"
AT_ONCE: Final = 16
"""Lanes in one question. The answer for one takes some 0.1 ms of the loop, with the start of what
came: hundreds at once made others 80 ms late (decision 045)."""
IN_COMPANY: Final = 4
"""Lanes in one question while several tenants ask. A look at 16 lanes keeps SQLite's reader busy
for 2.5 ms, and what is due for another tenant waits for its end."""
COMPANY: Final = 64
"""A tenant is alone when no other was among the last so many questions."""


class FairQuestions(Generic[T]):
    """What lanes ask, in a line for each tenant: a tenant whose lanes all ask at the same time does
    not hold up others."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[tuple[LaneWorker, T]]] = {}
        self._tenant = ""
        self._alone = COMPANY
        """The tenant that asked last, and how many questions in a row were its alone."""

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, lane: LaneWorker, question: T) -> None:
        """Add a question to the end of its tenant's line."""
        self._lines.setdefault(lane.lane.key.tenant, deque()).append((lane, question))

    def next(self) -> list[tuple[LaneWorker, T]]:
        """The next questions, one of each tenant in turn."""
        taken: list[tuple[LaneWorker, T]] = []
        most = AT_ONCE if self._alone >= COMPANY and len(self._lines) == 1 else IN_COMPANY
        self._alone += 1
        while self._lines and len(taken) < most:
            tenant = next(iter(self._lines))
            if tenant != self._tenant:
                self._alone, self._tenant = 0 if self._tenant else COMPANY, tenant
            line = self._lines.pop(tenant)
            taken.append(line.popleft())
            if line:
                self._lines[tenant] = line
        return taken


class LaneReader:
    """Asks the store for all owned lanes, many lanes in one question."""

    def __init__(
        self,
        store: Store,
        log: Log,
        after: Callable[[LaneWorker], None],
        put: Callable[[LaneWorker, AttemptEffects], None],
    ) -> None:
        self._store = store
        self._log = log
        self._after = after
        self._put = put
        self._looks: FairQuestions[Look] = FairQuestions()
        self._wants: FairQuestions[Want] = FairQuestions()
        self._work = asyncio.Event()

    def ask(self, lane: LaneWorker, look: Look | None, wants: list[Want]) -> None:
        """Queue the questions of a lane; the lane takes in each answer when it comes."""
        if look is not None:
            self._looks.add(lane, look)
        for want in wants:
            self._wants.add(lane, want)
        self._work.set()

    def take_in(
        self, lane: LaneWorker, view: View, readings: dict[int, Reading], now_ms: int
    ) -> None:
        """Take in what came with the claim of a lane."""
        for effects in lane.begin(view, readings, now_ms):
            self._put(lane, effects)

    async def run(self) -> None:
        """Ask the store, for as long as the engine lives."""
        while True:
            await self._work.wait()
            await self._ask_all()
            if not self._looks and not self._wants:
                self._work.clear()

    async def _ask_all(self) -> None:
        if looks := self._looks.next():
            await self._look(looks)
        if wants := self._wants.next():
            await self._fetch(wants)

    async def _look(self, asked: list[tuple[LaneWorker, Look]]) -> None:
        looks = [look for _, look in asked]
        views = await self._patiently(lambda: self._store.look(looks))
        for (lane, _), view in zip(asked, views, strict=True):
            lane.learn(view)
            self._after(lane)

    async def _fetch(self, asked: list[tuple[LaneWorker, Want]]) -> None:
        wants = [want for _, want in asked]
        readings = await self._patiently(lambda: self._store.fetch(wants))
        touched: dict[LaneWorker, None] = {}
        for (lane, _), reading in zip(asked, readings, strict=True):
            for effects in lane.read(reading):
                self._put(lane, effects)
            touched[lane] = None
        for lane in touched:
            self._after(lane)

    async def _patiently(self, question: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                answer = await question()
            except StoreError as error:
                self._log.store_failed(READ, error)
                await self._store.clock.sleep(RETRY_S)
            else:
                self._log.store_works(READ)
                return answer
