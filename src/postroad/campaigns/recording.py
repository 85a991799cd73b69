"""Writes results to the store in batches: while one is written the next one gathers."""

import asyncio
from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from msgspec.structs import replace

from postroad.model.campaign import CallResult, Campaign, Counts, Verb, must_halt
from postroad.model.errors import StoreError, is_about_store
from postroad.model.foreign import error_text
from postroad.observe.tasks import Tasks
from postroad.ports.campaigns import CampaignStore
from postroad.ports.clock import Clock
from postroad.ports.log import Log

RETRY_S: Final = 1.0
RECORD: Final = "record results of campaigns"
BATCH_MAX: Final = 1_000
UNSTORABLE: Final = "unstorable"
Written = Callable[[CallResult], None]
"""Called when a result is in the store."""


def _nobody(_result: CallResult) -> None:
    """Nobody waits for it."""


class RecorderFailed(Exception):
    """Results cannot be written for an unexpected reason: the process must stop sending."""


class ResultRecorder:
    """Writes the results of one job. `in_flight` counts calls whose results are not written yet."""

    def __init__(self, store: CampaignStore, campaign: Campaign, clock: Clock, log: Log) -> None:
        self._store = store
        self._campaign = campaign
        self._clock = clock
        self._log = log
        self._results: list[CallResult] = []
        self._waiting: list[Written] = []
        """The callbacks of each result."""
        self._tasks = Tasks(log, lambda _: self.changed.set())
        self._writing = False
        self._until_s = inf
        self.in_flight = 0
        self.changed = asyncio.Event()

    @property
    def busy(self) -> bool:
        """Whether results of calls that have begun will still be written."""
        return self.in_flight > 0 and self._tasks.error is None

    @property
    def may_wait(self) -> bool:
        """Whether there is time left for a store that is away."""
        return self._clock.steady_s() < self._until_s

    def check(self) -> None:
        """Raise RecorderFailed if results are not written any more."""
        if self._tasks.error is not None:
            lost = len(self._results)
            raise RecorderFailed(f"{lost} results are not written") from self._tasks.error

    def fail(self, error: BaseException) -> None:
        """Stop recording: a call ended without a result."""
        self._tasks.fail(error, "campaign call")

    def add(self, result: CallResult, written: Written = _nobody) -> None:
        """Take the result of a call; `written` is called when it is stored, or given up."""
        self._results.append(result)
        self._waiting.append(written)
        if not self._writing and self._tasks.error is None:
            self._writing = True
            _ = self._tasks.start(self._write(), "campaign results")  # kept there

    def leave(self, until_s: float) -> None:
        """Wait for a store that is away no longer than until then."""
        self._until_s = until_s

    async def _write(self) -> None:
        try:
            while self._results:
                batch = self._results[:BATCH_MAX]
                if await self._written(batch):
                    self._done(len(batch))
                elif self.may_wait:
                    await self._clock.sleep(RETRY_S)
                else:
                    self._give_up()
        finally:
            self._writing = False

    def _done(self, count: int) -> None:
        for result, written in zip(self._results[:count], self._waiting, strict=False):
            written(result)
        del self._results[:count], self._waiting[:count]
        self.in_flight -= count
        self.changed.set()

    def _give_up(self) -> None:
        self._log.error(
            "could not write results, the store is away: their recipients will be uncertain",
            campaign=self._campaign.name,
            results=len(self._results),
        )
        self._done(len(self._results))

    async def _written(self, batch: list[CallResult]) -> bool:
        campaign = self._campaign
        try:
            counts = await self._recorded(batch)
            self._log.store_works(RECORD)
            why = must_halt(counts, campaign.spec.halt) if campaign.halts else ""
            if why and await self._store.move(campaign, Verb.halt, why):
                self._log.warning("campaign halted", campaign=campaign.name, reason=why)
        except StoreError as error:
            self._log.store_failed(RECORD, error)
            return False
        return True

    async def _recorded(self, batch: Sequence[CallResult]) -> Counts:
        """Write all in one transaction; if that fails, each by itself. Writing a result again
        changes nothing."""
        try:
            return await self._store.record(self._campaign.id, batch)
        except Exception as error:  # whatever it is, one result must not lose the others
            if is_about_store(error):
                raise
            self._log.warning("results are written one by one", error=error_text(error))
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

    async def _alone(self, result: CallResult) -> Counts:
        """Write one result; if the store refuses it, without the provider's texts: the recipient's
        state matters more."""
        try:
            return await self._store.record(self._campaign.id, [result])
        except Exception as error:
            if is_about_store(error):
                raise
            facts = {
                "campaign": self._campaign.name,
                "recipient": result.n,
                "why": error_text(error),
            }
            self._log.error("the store refuses a result's texts: written without them", **facts)
        bare = replace(result, provider_id="", code="", sub_type=UNSTORABLE, error="")
        return await self._store.record(self._campaign.id, [bare])
