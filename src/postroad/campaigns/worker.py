"""The campaign worker of a process: it claims jobs, renews leases, starts scheduled campaigns and
finalises finished ones."""

import asyncio
from collections.abc import Sequence
from typing import Final

from msgspec import structs

from postroad.campaigns.job_run import JobContext, SenderDeps, halt
from postroad.campaigns.recording import RecorderFailed
from postroad.campaigns.sender import Sender
from postroad.campaigns.sending_lanes import LaneOpener
from postroad.model.campaign import Campaign, CampaignState, Job, Verb
from postroad.model.errors import PostroadError, StoreError
from postroad.model.foreign import error_text
from postroad.observe.tasks import Tasks

LEASE_MS: Final = 10_000
TICK: Final = "look for campaigns"
TICK_S: Final = 1.0
IDLE_S: Final = 1_200.0
"""With nothing to do and no wake-up it looks three times an hour."""
JOBS_MAX: Final = 8
MISSED_MS: Final = 3_600_000
"""A start that was missed by more than this is stopped, and has to be resumed by hand."""


class CampaignWorker:
    """Runs the senders of a process, one for each job that it has claimed."""

    def __init__(self, deps: SenderDeps, opener: LaneOpener, repeats: Sequence[str]) -> None:
        self._deps = deps
        self._repeats = repeats
        """Channels whose recipients recognise a repeated call."""
        self._opener = opener
        self._senders: dict[int, tuple[Sender, asyncio.Task[None]]] = {}
        self._bell = asyncio.Event()
        self._tasks = Tasks(deps.log, lambda _: self.wake())
        self._stopping = False
        self.idle = asyncio.Event()
        self._warned: set[str] = set()
        self._served: set[int] = set()
        """Campaigns that were sent from here and have not ended."""

    def wake(self) -> None:
        """Look for work now."""
        self._bell.set()

    def stop(self) -> None:
        """Begin nothing more. A second call does not extend the time to drain."""
        if self._stopping:
            return
        self._stopping = True
        for sender, _ in self._senders.values():
            sender.leave()
        self.wake()

    async def run(self) -> None:
        """Work until stopped, then finish the calls that are under way."""
        try:
            await self._run()
        finally:
            self.idle.set()
            await self._end()

    async def _end(self) -> None:
        """After an error give the senders the drain time to write their results."""
        for sender, _ in self._senders.values():
            sender.leave()
        if left := [task for _, task in self._senders.values() if not task.done()]:
            await asyncio.wait(left, timeout=self._deps.drain_s)
        await self._tasks.close()

    async def _run(self) -> None:
        self._deps.store.hear(self.wake)
        heirs: tuple[int, ...] = (self._deps.owner,)  # every other owner of a SQLite file is dead
        while not self._stopping:
            wait_s = TICK_S
            try:
                wait_s = await self._tick(heirs)
                heirs = ()
                self._deps.log.store_works(TICK)
            except StoreError as error:
                self._deps.log.store_failed(TICK, error)
            await self._pause(wait_s)
        while self._senders:  # their leases last until their calls have ended
            await self._kept()
            await self._pause(TICK_S)

    async def _kept(self) -> None:
        try:
            await self._keep()
        except StoreError as error:
            self._deps.log.store_failed(TICK, error)

    async def _tick(self, heirs: tuple[int, ...]) -> float:
        store, now_ms = self._deps.store, self._deps.clock.now_ms()
        due, next_ms, live = await store.due()
        for campaign in due:
            await self._start(campaign, now_ms)
        await self._tell_ended()  # another process may have finalised it
        if not (due or live or self._senders):
            self.idle.set()
            return min(IDLE_S, max(0.001, (next_ms - now_ms) / 1000)) if next_ms else IDLE_S
        self.idle.clear()
        await self._keep()
        _ = await store.reap(heirs, self._repeats)  # how many does not matter
        for name in await store.log():
            if name not in self._warned:
                self._warned.add(name)
                self._deps.log.error("a campaign's counts do not add up", campaign=name)
        await self._tell_ended()
        if len(self._senders) < JOBS_MAX:
            job = await store.claim(self._deps.owner, LEASE_MS)
            if job is not None:
                await self._take(job)
            elif self._senders and all(sender.waiting for sender, _ in self._senders.values()):
                self.idle.set()  # nothing is due now
        return TICK_S

    async def _start(self, campaign: Campaign, now_ms: int) -> None:
        late_ms = now_ms - campaign.start_at_ms
        if late_ms > MISSED_MS:
            why = f"its start was missed by {late_ms // 60_000} min: resume it if it is to be sent"
            if await self._deps.store.move(campaign, Verb.stop, why):
                self._deps.log.warning("campaign stopped", campaign=campaign.name, reason=why)
        elif await self._deps.store.move(campaign, Verb.start):
            self._deps.log.info("scheduled campaign is due", campaign=campaign.name)

    async def _tell_ended(self) -> None:
        """Log the end of campaigns that were sent from here."""
        for number in list(self._served):
            campaign = await self._deps.store.campaign_by_id(number)
            if campaign is not None and campaign.state is CampaignState.running:
                continue
            self._served.discard(number)
            if campaign is not None and campaign.state is not CampaignState.halted:  # told before
                facts = structs.asdict(campaign.counts) | {"reason": campaign.reason}
                event = f"campaign {campaign.state}"
                self._deps.log.info(event, campaign=campaign.name, **facts)

    async def _keep(self) -> None:
        """Renew the leases, and tell each sender how its job stands."""
        for number in [n for n, (_, task) in self._senders.items() if task.done()]:
            await self._senders.pop(number)[1]
        if self._senders:
            jobs = list(self._senders)
            heard = await self._deps.store.renew(self._deps.owner, LEASE_MS, jobs)
            pulses = {one.job: one for one in heard}
            for number, (sender, _) in self._senders.items():
                sender.hear(pulses.get(number))

    async def _take(self, job: Job) -> None:
        store = self._deps.store
        campaign = await store.campaign_by_id(job.campaign)
        credential = await store.credential_of(job.campaign)
        if campaign is None or credential is None:
            raise StoreError(f"job {job.id} has no campaign or credential")
        try:
            opened = await self._opener.session(credential)
            try:
                sender = await self._prepare(JobContext(job, campaign, credential, opened))
            except BaseException:
                await opened.session.close()
                raise
        except StoreError:
            raise
        except PostroadError as error:
            await halt(self._deps, campaign, error_text(error))
            await store.release(self._deps.owner, job)
            return
        task = self._tasks.start(self._send(sender, campaign), "sender")
        self._senders[job.id] = (sender, task)
        if job.campaign not in self._served:
            self._served.add(job.campaign)
            counts = campaign.counts
            event = "campaign started" if counts.unsent == counts.total else "campaign goes on"
            facts = {"unsent": counts.unsent, "uncertain": counts.uncertain}
            self._deps.log.info(event, campaign=campaign.name, **facts)
        if self._stopping:  # since the job was claimed
            sender.leave()

    async def _prepare(self, context: JobContext) -> Sender:
        sender = Sender(self._deps, context, self._opener)
        jobs = [context.job.id]
        for pulse in await self._deps.store.renew(self._deps.owner, LEASE_MS, jobs):
            sender.hear(pulse)  # its lane may be paused
        return sender

    async def _send(self, sender: Sender, campaign: Campaign) -> None:
        try:
            await sender.run()
        except RecorderFailed:
            raise
        except Exception as error:
            self._deps.log.exception("a sender failed unexpectedly", campaign=campaign.name)
            why = f"its sender failed: {type(error).__name__}: {error_text(error)}"
            await self._halt(campaign, why)
        finally:
            await sender.close()
            self.wake()

    async def _halt(self, campaign: Campaign, why: str) -> None:
        try:
            await halt(self._deps, campaign, why)
        except StoreError as error:
            self._deps.log.warning("a campaign could not be halted", error=str(error))

    async def _pause(self, seconds: float) -> None:
        timer = self._deps.clock.later(max(1, round(seconds * 1000)), self._bell.set)
        await self._bell.wait()
        self._bell.clear()
        timer.cancel()
