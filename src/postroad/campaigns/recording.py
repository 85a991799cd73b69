"""Results go to the store in batches: what gathers while one is written is the next."""

import asyncio
from math import inf
from typing import Final

from postroad.model.campaign import Campaign, Result, Verb, must_halt
from postroad.model.errors import StoreError
from postroad.ports.campaigns import CampaignStore
from postroad.ports.clock import Clock
from postroad.ports.log import Log

RETRY_S: Final = 1.0
BATCH_MAX: Final = 1_000


class Recorder:
    """One job's results. `in_flight` counts what is begun and not written yet."""

    def __init__(self, store: CampaignStore, campaign: Campaign, clock: Clock, log: Log) -> None:
        self._store = store
        self._campaign = campaign
        self._clock = clock
        self._log = log
        self._results: list[Result] = []
        self._writing: asyncio.Task[None] | None = None
        self._until_s = inf
        self.in_flight = 0
        self.changed = asyncio.Event()

    def add(self, result: Result) -> None:
        """What a call gave."""
        self._results.append(result)
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    def leave(self, until_s: float) -> None:
        """The process ends: for a store that is away it waits until then."""
        self._until_s = until_s

    async def _write(self) -> None:
        try:
            while self._results:
                batch = self._results[:BATCH_MAX]
                if await self._written(batch):
                    self._done(len(batch))
                elif self._clock.steady_s() < self._until_s:
                    await self._clock.sleep(RETRY_S)
                else:
                    self._give_up()
        finally:
            self._writing = None

    def _done(self, count: int) -> None:
        del self._results[:count]
        self.in_flight -= count
        self.changed.set()

    def _give_up(self) -> None:
        self._log.error(
            "results are not written, as the store is away: these recipients will be uncertain",
            campaign=self._campaign.name,
            results=len(self._results),
        )
        self._done(len(self._results))

    async def _written(self, batch: list[Result]) -> bool:
        campaign = self._campaign
        try:
            counts = await self._store.record(campaign.id, batch)
            why = must_halt(counts, campaign.spec.halt) if campaign.halts else ""
            if why and await self._store.move(campaign, Verb.halt, why):
                self._log.warning("campaign halted", campaign=campaign.name, reason=why)
        except StoreError as error:
            self._log.warning("results wait to be written", error=str(error))
            return False
        return True
