"""Reader: what many lanes ask in one turn becomes one question to the store."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from postroad.engine.lane import LaneWorker
from postroad.engine.verdict import Verdict
from postroad.model.errors import StoreError
from postroad.model.record import Look, Reading, View, Want
from postroad.ports.log import Log
from postroad.ports.store import Store

T = TypeVar("T")
RETRY_S: Final = 1.0


class Reader:
    """Looks and fetches for all owned lanes, coalesced."""

    def __init__(
        self,
        store: Store,
        log: Log,
        after: Callable[[LaneWorker], None],
        put: Callable[[LaneWorker, Verdict], None],
    ) -> None:
        self._store = store
        self._log = log
        self._after = after
        self._put = put
        self._looks: list[tuple[LaneWorker, Look]] = []
        self._wants: list[tuple[LaneWorker, Want]] = []
        self._work = asyncio.Event()

    def ask(self, lane: LaneWorker, look: Look | None, wants: list[Want]) -> None:
        """Ask for a lane; it is told when the answer is there."""
        if look is not None:
            self._looks.append((lane, look))
        self._wants += [(lane, want) for want in wants]
        self._work.set()

    def feed(self, lane: LaneWorker, view: View, readings: dict[int, Reading], now_ms: int) -> None:
        """What came with a claim is taken as if it had been asked for. A lane in trouble only
        learns what there is, and asks for itself."""
        verdicts = lane.begin(view, readings, now_ms)
        if verdicts is None:
            if lane.look(now_ms) is not None:
                lane.learn(view)
            return
        for verdict in verdicts:
            self._put(lane, verdict)

    async def run(self) -> None:
        """Ask the store, for as long as the engine lives."""
        while True:
            await self._work.wait()
            await self._ask_all()
            if not self._looks and not self._wants:
                self._work.clear()

    async def _ask_all(self) -> None:
        looks, self._looks = self._looks, []
        wants, self._wants = self._wants, []
        if looks:
            await self._look(looks)
        if wants:
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
            for verdict in lane.read(reading):
                self._put(lane, verdict)
            touched[lane] = None
        for lane in touched:
            self._after(lane)

    async def _patiently(self, question: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await question()
            except StoreError as error:
                self._log.warning("the store cannot be read", error=str(error))
                await self._store.clock.sleep(RETRY_S)
