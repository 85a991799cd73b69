"""Campaigns: create, import, preview, start, stop, settle, export."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Unpack

from postroad.campaigns.estimate import Estimate, estimate
from postroad.campaigns.exporting import export
from postroad.campaigns.importing import Imported, Importer, ImportLimits, Progress
from postroad.campaigns.rendering import templates_of
from postroad.model.campaign import (
    MOVES,
    Campaign,
    Counts,
    HaltRule,
    Recipient,
    RowState,
    Spec,
    Verb,
    WrongState,
    check_move,
)
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, BadTime
from postroad.model.redaction import Redaction
from postroad.ports.campaigns import CampaignStore
from postroad.ports.channel import Channel
from postroad.ports.clock import Clock
from postroad.ports.store import Store
from postroad.ports.usage import CountedKind
from postroad.verbs.allowance import Allowance
from postroad.verbs.attachments import AttachmentHolds
from postroad.verbs.bounding import bounded
from postroad.verbs.campaign_drafts import CampaignDrafts, MoreOptions, attachments_of
from postroad.verbs.campaign_status import CampaignFinder, CampaignStatus
from postroad.verbs.campaign_trials import CampaignTrials, Turn
from postroad.verbs.credentials import CredentialAdmin, moment_ms
from postroad.verbs.grouping import passed_on

SLICE: Final = 1_000
"""Recipients that one transaction settles; other writers go between two of them."""


@bounded
class CampaignAdmin:
    """Send one template to many recipients."""

    def __init__(
        self,
        store: CampaignStore,
        credentials: CredentialAdmin,
        clock: Clock,
        turn: Turn,
        allowance: Allowance,
        road: Store,
        redaction: Redaction,
    ) -> None:
        self._allowance = allowance
        self._redaction = redaction
        self._lists = road
        self._find = CampaignFinder(store, clock)
        holds = AttachmentHolds(road)
        self._drafts = CampaignDrafts(store, credentials, allowance, self._find, holds)
        self._trials = CampaignTrials(store, credentials, self._find, turn, road, redaction)
        self._store = store
        self._credentials = credentials
        self._clock = clock
        self.limits = ImportLimits()

    async def create(
        self,
        name: str,
        *,
        credential: str,
        template: str = "",
        recipient: str = "recipient",
        jobs: int = 1,
        halt: HaltRule | None = None,
        tenant: str = DEFAULT_TENANT,
        **more: Unpack[MoreOptions],
    ) -> CampaignStatus:
        """Create a draft without recipients. `template` makes the text; a mail has a `subject` and
        may have `html` and `attachments` too. `jobs`: how many senders may work on it at once.
        `zone`: the recipients' time zone, by which allowed hours go."""
        files = attachments_of(more.get("attachments", ()))
        rest = (more.get("subject", ""), more.get("html", ""), files, more.get("zone", ""))
        spec = Spec(template, recipient, jobs, halt or HaltRule(), *rest)
        await self._drafts.create(tenant, name, credential, spec)
        return await self.show(name, tenant=tenant)

    edit = passed_on(CampaignDrafts.edit, "_drafts")
    details = passed_on(CampaignDrafts.details, "_drafts")
    clone = passed_on(CampaignDrafts.clone, "_drafts")
    delete = passed_on(CampaignDrafts.delete, "_drafts")

    async def list(
        self, *, after: int = 0, limit: int = 100, tenant: str = DEFAULT_TENANT
    ) -> Sequence[CampaignStatus]:
        """A tenant's campaigns, the oldest first."""
        found = await self._store.campaigns(tenant, after, limit)
        return [await self._find.status(one) for one in found]

    async def show(self, name: str, *, tenant: str = DEFAULT_TENANT) -> CampaignStatus:
        """The status of a campaign, with its rate since the last call and when it will be done."""
        return await self._find.status(await self._find.get(name, tenant))

    async def exact(self, name: str, *, tenant: str = DEFAULT_TENANT) -> Counts:
        """Count the recipients one by one."""
        return await self._store.exact((await self._find.get(name, tenant)).id)

    # Recipients

    async def import_file(
        self,
        name: str,
        path: str | Path,
        *,
        encoding: str = "",
        skip_invalid: bool = False,
        progress: Progress | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> Imported:
        """Import the recipients of a CSV file. An invalid line fails the import, unless
        `skip_invalid`. After a crash the same call continues it."""
        campaign = await self._find.get(name, tenant)
        check_move(campaign.state, Verb.change, name)
        channel = self._credentials.usable(await self._find.credential(campaign)).channel
        templates_of(campaign.spec).check_parts(channel)
        if await self._store.importing(campaign.id) is None:  # else it goes on
            await self._allowance.one_more(CountedKind.imports, tenant)
        importer = Importer(self._store, channel.recipients, self.limits, self._lists)
        return await importer.run(
            campaign, Path(path), encoding=encoding, skip_invalid=skip_invalid, progress=progress
        )

    async def discard_import(self, name: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Discard an unfinished import."""
        campaign = await self._find.get(name, tenant)
        if not await self._store.end_import(campaign.id, keep=False):
            raise WrongState(f"no import of campaign {name!r} is under way")

    preview = passed_on(CampaignTrials.preview, "_trials")
    test_send = passed_on(CampaignTrials.test_send, "_trials")

    async def dry_run(self, name: str, *, tenant: str = DEFAULT_TENANT) -> Estimate:
        """Estimate a start: how many recipients, which are invalid, the cost and the duration."""
        campaign = await self._find.get(name, tenant)
        channel = await self._startable(campaign)
        spec = (await self._find.credential(campaign)).spec
        return await estimate(self._store, self._lists, campaign, channel, spec)

    # Going and stopping

    async def start(self, name: str, *, tenant: str = DEFAULT_TENANT) -> CampaignStatus:
        """Start sending now."""
        campaign = await self._find.get(name, tenant)
        check_move(campaign.state, Verb.start, name)
        _ = await self._startable(campaign)  # a refusal is raised
        return await self._move(campaign, Verb.start)

    async def schedule(
        self, name: str, at: datetime, *, tenant: str = DEFAULT_TENANT
    ) -> CampaignStatus:
        """Schedule the start. The time has a zone and is in the future."""
        campaign = await self._find.get(name, tenant)
        check_move(campaign.state, Verb.schedule, name)
        at_ms = moment_ms(at)
        if at_ms <= self._clock.now_ms():
            raise BadTime(f"{at.isoformat()} is past: start it, or give a time to come")
        _ = await self._startable(campaign)  # a refusal is raised
        return await self._move(campaign, Verb.schedule, at_ms=at_ms)

    async def stop(self, name: str, *, tenant: str = DEFAULT_TENANT) -> CampaignStatus:
        """Stop sending until it is resumed, also over restarts."""
        return await self._move(await self._find.get(name, tenant), Verb.stop, "stopped by hand")

    async def resume(
        self, name: str, *, override: bool = False, tenant: str = DEFAULT_TENANT
    ) -> CampaignStatus:
        """Resume with what was certainly not sent. `override`: never halt it automatically."""
        campaign = await self._find.get(name, tenant)
        check_move(campaign.state, Verb.resume, name)
        _ = await self._startable(campaign)  # a refusal is raised
        if override:
            await self._store.override(campaign.id)
        return await self._move(campaign, Verb.resume)

    async def retry(self, name: str, *, tenant: str = DEFAULT_TENANT) -> CampaignStatus:
        """Send again to recipients that certainly failed, never to uncertain ones."""
        campaign = await self._find.get(name, tenant)
        check_move(campaign.state, Verb.retry, name)
        _ = await self._startable(campaign)  # a refusal is raised
        return await self._move(campaign, Verb.retry)

    async def cancel(self, name: str, *, tenant: str = DEFAULT_TENANT) -> CampaignStatus:
        """Cancel it for good."""
        return await self._move(
            await self._find.get(name, tenant), Verb.cancel, "cancelled by hand"
        )

    # What is known

    async def settle(
        self,
        name: str,
        state: str,
        rows: Sequence[int] = (),
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> int:
        """Settle uncertain recipients, all or those with these numbers, as `sent` or `unsent`.
        Resuming sends to the unsent ones."""
        if state not in (RowState.sent, RowState.unsent):
            raise BadInput(f"{state!r}: uncertain ones are settled as 'sent' or 'unsent'")
        campaign = await self._find.get(name, tenant)
        if rows:
            return await self._store.settle(campaign.id, RowState(state), rows)
        done = after = 0
        while page := await self._store.page(campaign.id, RowState.uncertain, after, SLICE):
            after = page[-1].n
            numbers = [one.n for one in page]
            done += await self._store.settle(campaign.id, RowState(state), numbers)
        return done

    lookup = passed_on(CampaignTrials.lookup, "_trials")

    async def recipients(
        self,
        name: str,
        *,
        state: str = "",
        after: int = 0,
        limit: int = 100,
        tenant: str = DEFAULT_TENANT,
    ) -> Sequence[Recipient]:
        """A page of recipients in order."""
        campaign = await self._find.get(name, tenant)
        return await self._store.page(campaign.id, _state(state), after, limit)

    async def export(
        self, name: str, form: str = "csv", *, state: str = "", tenant: str = DEFAULT_TENANT
    ) -> AsyncIterator[str]:
        """Export the results as `csv` or `ndjson`, in pieces."""
        campaign = await self._find.get(name, tenant)
        about = (campaign, form, _state(state), self._redaction)
        async for piece in export(self._store, *about):
            yield piece

    # Inside

    async def _imported(self, campaign: Campaign) -> None:
        current = await self._store.importing(campaign.id)
        if current is not None:
            raise WrongState(
                f"an import of campaign {campaign.name!r} stands at line {current.line}: finish or "
                "discard it first"
            )

    async def _startable(self, campaign: Campaign) -> Channel:
        """Refuse to start what could not be sent; answers the channel that it goes through."""
        await self._imported(campaign)
        if not campaign.counts.total:
            raise WrongState(f"campaign {campaign.name!r} has no recipients: import some")
        channel = self._credentials.usable(await self._find.credential(campaign)).channel
        templates = templates_of(campaign.spec)
        templates.check_parts(channel)
        templates.check(campaign.columns)
        await self._drafts.hold(campaign)
        return channel

    async def _move(
        self, campaign: Campaign, verb: Verb, reason: str = "", at_ms: int = 0
    ) -> CampaignStatus:
        check_move(campaign.state, verb, campaign.name)
        if not await self._store.move(campaign, verb, reason, at_ms):
            await self._imported(campaign)
            now = await self._store.campaign_by_id(campaign.id)
            if now is not None and now.state in MOVES[verb][0]:
                raise WrongState(f"campaign {campaign.name!r} is being finalised: try again soon")
            check_move(now.state if now else campaign.state, verb, campaign.name)
        await self._store.ring()
        return await self.show(campaign.name, tenant=campaign.tenant)


def _state(text: str) -> RowState | None:
    if text and text not in set(RowState):
        raise BadInput(f"state {text!r}: there are {', '.join(RowState)}")
    return RowState(text) if text else None
