"""Campaigns: create, show, import, test, start and stop, settle, export."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.progress import NDJSON
from postroad.api.request import Request, Stream
from postroad.api.routing import Route, drop, fetch, give
from postroad.api.uploads import file_name, uploaded
from postroad.campaigns.estimate import Estimate
from postroad.campaigns.exporting import FORMATS
from postroad.campaigns.importing import Imported
from postroad.model.blobs import Attachment
from postroad.model.campaign import Counts, HaltRule, Recipient
from postroad.model.texts import ID_MAX, NAME_MAX, TEMPLATE_MAX, Id, Name, QueueName
from postroad.model.tokens import Scope
from postroad.verbs.campaign_status import CampaignStatus
from postroad.verbs.campaign_trials import CallAnswer, Preview
from postroad.verbs.campaigns import CampaignAdmin

BIG: Final = 1 << 62
Number = Annotated[int, Meta(ge=1, le=BIG)]
After = Annotated[int, Meta(ge=0, le=BIG, description="The number of the last one seen")]
Limit = Annotated[int, Meta(ge=1, le=1_000)]
State = Annotated[str, Meta(pattern="^(unsent|sent|failed|uncertain|suppressed|)$")]
Format = Annotated[str, Meta(pattern="^(csv|ndjson)$")]
Given = Annotated[Name, Meta(min_length=1)]
TemplateText = Annotated[str, Meta(max_length=TEMPLATE_MAX)]
Jobs = Annotated[int, Meta(ge=1, le=64)]
FailuresMin = Annotated[int, Meta(ge=0, le=BIG)]
Percent = Annotated[float, Meta(ge=0, le=100)]
FileName = Annotated[str, Meta(max_length=NAME_MAX, description="Its name, for what is said of it")]
Encoding = Annotated[str, Meta(max_length=ID_MAX, description="Else it is found out, and said")]
Skip = Annotated[bool, Meta(description="Leave out invalid lines")]
MEDIA: Final = dict(zip(FORMATS, ("text/csv", NDJSON), strict=True))


class CampaignRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign to be created. `template` makes the text; a mail has a subject, and may have HTML
    too."""

    name: Given
    credential: Name
    template: TemplateText = ""
    subject: TemplateText = ""
    html: TemplateText = ""
    attachments: tuple[Attachment, ...] = ()
    zone: Id = ""
    recipient: Given = "recipient"
    jobs: Jobs = 1
    failures_min: FailuresMin = 10
    failures_percent: Percent = 10.0


class TestRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Where one recipient's message is to go instead."""

    to: Annotated[QueueName, Meta(min_length=1)]
    row: Number = 1


class ScheduleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """When a campaign starts, with the time zone."""

    at: datetime


class ResumeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """How a campaign resumes. With `override` it no longer halts by itself."""

    override: bool = False


class SettleRecipientsRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What uncertain recipients are settled as: those in `rows`, or all of them."""

    state: Annotated[str, Meta(pattern="^(sent|unsent)$")]
    rows: tuple[Number, ...] = ()


class SettledRecipients(Struct, frozen=True):
    """How many recipients were settled."""

    settled: int


def _here(request: Request) -> tuple[CampaignAdmin, str]:
    return request.road.campaigns, request.tenant


@give("/v1/campaigns", scope=Scope.manage, status=201)
async def campaign_create(request: Request, asked: CampaignRequest) -> CampaignStatus:
    """Create a draft without recipients."""
    campaigns, tenant = _here(request)
    return await campaigns.create(
        asked.name,
        credential=asked.credential,
        template=asked.template,
        subject=asked.subject,
        html=asked.html,
        attachments=asked.attachments,
        zone=asked.zone,
        recipient=asked.recipient,
        jobs=asked.jobs,
        halt=HaltRule(asked.failures_min, asked.failures_percent),
        tenant=tenant,
    )


@fetch("/v1/campaigns", scope=Scope.read)
async def campaign_list(
    request: Request, limit: Limit = 100, after: After = 0
) -> list[CampaignStatus]:
    """List campaigns, the oldest first."""
    campaigns, tenant = _here(request)
    return list(await campaigns.list(after=after, limit=limit, tenant=tenant))


@fetch("/v1/campaigns/{name}", scope=Scope.read)
async def campaign_show(request: Request, name: str) -> CampaignStatus:
    """Show the status of a campaign, its rate, and when it will be done."""
    campaigns, tenant = _here(request)
    return await campaigns.show(name, tenant=tenant)


@fetch("/v1/campaigns/{name}/counts", scope=Scope.read)
async def campaign_counts(request: Request, name: str) -> Counts:
    """Count the recipients one by one."""
    campaigns, tenant = _here(request)
    return await campaigns.exact(name, tenant=tenant)


class CsvFile(Struct, frozen=True):
    """A CSV file; its first line names the columns."""


@give(
    "/v1/campaigns/{name}/import",
    scope=Scope.manage,
    bytes_max=BIG,
    takes=CsvFile,
    takes_media="text/csv",
)
async def campaign_import(
    request: Request,
    name: str,
    encoding: Encoding = "",
    skip_invalid: Skip = False,
    file: FileName = "",
) -> Imported:
    """Import the recipients of a CSV file: all of them, or none if a line is invalid. After an
    interruption send the same file again: the import continues."""
    campaigns, tenant = _here(request)
    _ = await campaigns.show(name, tenant=tenant)  # before a file is taken for nobody
    async with uploaded(request, file_name(file)) as path:
        return await campaigns.import_file(
            name, path, encoding=encoding, skip_invalid=skip_invalid, tenant=tenant
        )


@drop("/v1/campaigns/{name}/import", scope=Scope.manage, status=204)
async def campaign_discard(request: Request, name: str) -> None:
    """Discard an unfinished import."""
    campaigns, tenant = _here(request)
    await campaigns.discard_import(name, tenant=tenant)


@fetch("/v1/campaigns/{name}/preview", scope=Scope.read)
async def campaign_preview(request: Request, name: str, row: Number = 1) -> Preview:
    """Show the message for one recipient."""
    campaigns, tenant = _here(request)
    return await campaigns.preview(name, row, tenant=tenant)


@give("/v1/campaigns/{name}/test", scope=Scope.manage)
async def campaign_test(request: Request, asked: TestRequest, name: str) -> CallAnswer:
    """Send one recipient's message to another address; it is not counted."""
    campaigns, tenant = _here(request)
    return await campaigns.test_send(name, asked.to, asked.row, tenant=tenant)


@fetch("/v1/campaigns/{name}/estimate", scope=Scope.read)
async def campaign_estimate(request: Request, name: str) -> Estimate:
    """Estimate a campaign: how many messages, which recipients are invalid, price and duration."""
    campaigns, tenant = _here(request)
    return await campaigns.dry_run(name, tenant=tenant)


@give("/v1/campaigns/{name}/schedule", scope=Scope.manage)
async def campaign_schedule(request: Request, asked: ScheduleRequest, name: str) -> CampaignStatus:
    """Schedule the start of a campaign."""
    campaigns, tenant = _here(request)
    return await campaigns.schedule(name, asked.at, tenant=tenant)


@give("/v1/campaigns/{name}/resume", scope=Scope.manage)
async def campaign_resume(request: Request, asked: ResumeRequest, name: str) -> CampaignStatus:
    """Resume a campaign with what was certainly not sent."""
    campaigns, tenant = _here(request)
    return await campaigns.resume(name, override=asked.override, tenant=tenant)


def _action(verb: Callable[..., Awaitable[CampaignStatus]], text: str) -> Route:
    """Make the route of a verb that takes the name of a campaign and nothing else."""

    async def act(request: Request, name: str) -> CampaignStatus:
        campaigns, tenant = _here(request)
        return await verb(campaigns, name, tenant=tenant)

    act.__name__, act.__doc__ = f"campaign_{verb.__name__}", text
    return give(f"/v1/campaigns/{{name}}/{verb.__name__}", scope=Scope.manage)(act)


campaign_start = _action(CampaignAdmin.start, "Start a campaign now.")
campaign_stop = _action(
    CampaignAdmin.stop, "Stop a campaign: no new calls start until it is resumed."
)
campaign_retry = _action(CampaignAdmin.retry, "Send again to the recipients that certainly failed.")
campaign_cancel = _action(CampaignAdmin.cancel, "Cancel a campaign for good.")


@give("/v1/campaigns/{name}/settle", scope=Scope.manage, much=True)
async def campaign_settle(
    request: Request, asked: SettleRecipientsRequest, name: str
) -> SettledRecipients:
    """Settle uncertain recipients as sent or unsent."""
    campaigns, tenant = _here(request)
    return SettledRecipients(await campaigns.settle(name, asked.state, asked.rows, tenant=tenant))


@give("/v1/campaigns/{name}/lookup", scope=Scope.manage)
async def campaign_lookup(request: Request, name: str) -> SettledRecipients:
    """Ask the provider about uncertain recipients."""
    campaigns, tenant = _here(request)
    return SettledRecipients(await campaigns.lookup(name, tenant=tenant))


@fetch("/v1/campaigns/{name}/recipients", scope=Scope.read)
async def campaign_recipients(
    request: Request, name: str, state: State = "", limit: Limit = 100, after: After = 0
) -> list[Recipient]:
    """List recipients in order, each with all that is known about it."""
    campaigns, tenant = _here(request)
    found = await campaigns.recipients(name, state=state, after=after, limit=limit, tenant=tenant)
    return list(found)


@fetch(
    "/v1/campaigns/{name}/export",
    scope=Scope.read,
    gives_media=tuple(MEDIA.values()),
)
async def campaign_export(
    request: Request,
    name: str,
    format: Format = "csv",  # noqa: A002 - the word that clients use
    state: State = "",
) -> Stream:
    """Export all results as CSV or NDJSON."""
    campaigns, tenant = _here(request)
    _ = await campaigns.show(name, tenant=tenant)  # whether there is one

    async def pieces() -> AsyncIterator[bytes]:
        async for piece in campaigns.export(name, format, state=state, tenant=tenant):
            yield piece.encode()

    return Stream(pieces(), media_type=MEDIA[format])


ROUTES: Final = (
    campaign_create,
    campaign_list,
    campaign_show,
    campaign_counts,
    campaign_import,
    campaign_discard,
    campaign_preview,
    campaign_test,
    campaign_estimate,
    campaign_schedule,
    campaign_resume,
    campaign_start,
    campaign_stop,
    campaign_retry,
    campaign_cancel,
    campaign_settle,
    campaign_lookup,
    campaign_recipients,
    campaign_export,
)
