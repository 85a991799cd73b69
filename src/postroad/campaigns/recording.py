"""Results go to the store in batches: what gathers while one is written is the next."""

import asyncio
from collections.abc import Sequence
from math import inf
from typing import Final

from msgspec.structs import replace

from postroad.model.campaign import Campaign, Counts, Result, Verb, must_halt
from postroad.model.errors import StoreError, is_about_store
from postroad.model.foreign import told
from postroad.observe.tasks import Tasks
from postroad.ports.campaigns import CampaignStore
from postroad.ports.clock import Clock
from postroad.ports.log import Log

RETRY_S: Final = 1.0
BATCH_MAX: Final = 1_000
UNSTORABLE: Final = "unstorable"


class RecorderBroke(Exception):
    """Results cannot be written, and nobody knows why: the process must not go on sending."""


class Recorder:
    """One job's results. `in_flight` counts what is begun and not written yet."""

    def __init__(self, store: CampaignStore, campaign: Campaign, clock: Clock, log: Log) -> None:
        self._store = store
        self._campaign = campaign
        self._clock = clock
        self._log = log
        self._results: list[Result] = []
        self._tasks = Tasks(log, lambda _: self.changed.set())
        self._writing = False
        self._until_s = inf
        self.in_flight = 0
        self.changed = asyncio.Event()

    @property
    def busy(self) -> bool:
        """Whether something is begun of which a result will still be written."""
        return self.in_flight > 0 and self._tasks.error is None

    def check(self) -> None:
        """RecorderBroke when nothing is written any more."""
        if self._tasks.error is not None:
            lost = len(self._results)
            raise RecorderBroke(f"{lost} results are not written") from self._tasks.error

    def fail(self, error: BaseException) -> None:
        """A call broke: its result will never come."""
        self._tasks.fail(error, "campaign call")

    def add(self, result: Result) -> None:
        """What a call gave."""
        self._results.append(result)
        if not self._writing and self._tasks.error is None:
            self._writing = True
            _ = self._tasks.start(self._write(), "campaign results")  # kept there

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
            self._writing = False

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
            counts = await self._recorded(batch)
            why = must_halt(counts, campaign.spec.halt) if campaign.halts else ""
            if why and await self._store.move(campaign, Verb.halt, why):
                self._log.warning("campaign halted", campaign=campaign.name, reason=why)
        except StoreError as error:
            self._log.warning("results wait to be written", error=str(error))
            return False
        return True

    async def _recorded(self, batch: Sequence[Result]) -> Counts:
        """All in one transaction; after one that failed each by itself. One that is written again
        changes nothing."""
        try:
            return await self._store.record(self._campaign.id, batch)
        except Exception as error:  # whatever it is, the others must not suffer for one of them
            if is_about_store(error):
                raise
            self._log.warning("results are written one by one", error=told(error))
        counts, broken = Counts(), None
        for result in batch:
            try:
                counts = await self._alone(result)
            except Exception as error:
                if is_about_store(error):
                    raise
                broken = error
        if broken is not None:
            raise broken
        return counts

    async def _alone(self, result: Result) -> Counts:
        """One result; if the store refuses it, without its texts: what became of the recipient
        counts more than the provider's words for it."""
        try:
            return await self._store.record(self._campaign.id, [result])
        except Exception as error:
            if is_about_store(error):
                raise
            facts = {"campaign": self._campaign.name, "recipient": result.n, "why": told(error)}
            self._log.error("the store refuses the texts of a result: left out", **facts)
        bare = replace(result, provider_id="", code="", sub_type=UNSTORABLE)
        return await self._store.record(self._campaign.id, [bare])
