"""One run of an open road: until it is stopped, or until nothing is due any more."""

import asyncio
from collections.abc import Collection, Coroutine, Sequence
from typing import Protocol

from postroad.campaigns.worker import CampaignWorker
from postroad.engine.engine import Engine
from postroad.engine.replaying import ReplayWorker
from postroad.model.rollup import Rollup
from postroad.verbs.cron import Scheduler


class HasEngine(Protocol):
    """A road. It has an engine while it runs."""

    engine: Engine | None


class LiveEngine:
    """What verbs ask the engine of a road. While none runs, nothing is under way."""

    def __init__(self, road: HasEngine) -> None:
        self._road = road

    def last_tries(self, numbers: Collection[int]) -> set[int]:
        """Which of these it still tries, after it was asked to cancel them."""
        engine = self._road.engine
        return set() if engine is None else engine.last_tries(numbers)

    def unwritten_figures(self) -> Sequence[Rollup]:
        """Figures that are not in the store yet."""
        engine = self._road.engine
        return () if engine is None else engine.figures.unwritten()

    def in_flight(self) -> list[int]:
        """Messages that are being sent."""
        engine = self._road.engine
        return [] if engine is None else engine.in_flight()

    def sends(self, number: int) -> bool:
        """Whether it is trying a message now."""
        engine = self._road.engine
        return engine is not None and engine.sends(number)


async def deliver(
    engine: Engine,
    worker: CampaignWorker,
    scheduler: Scheduler | None,
    replays: ReplayWorker | None,
    *,
    until_idle: bool,
) -> None:
    """Let a started engine work until it is stopped. `until_idle`: or until messages, campaigns,
    replays and timetables have nothing due."""
    stopped = engine.until_stopped()
    if not until_idle:
        await stopped
        return
    await _first_of(stopped, _idle(worker, scheduler, replays))
    await engine.until_idle()


async def _idle(
    worker: CampaignWorker, scheduler: Scheduler | None, replays: ReplayWorker | None
) -> None:
    if scheduler is not None:
        await scheduler.caught_up.wait()
    if replays is not None:
        await replays.idle.wait()
    await worker.idle.wait()


async def _first_of(*waits: Coroutine[None, None, None]) -> None:
    """Wait until one has ended, and raise what it raised."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in ended:
        task.result()
