"""Campaigns that have not begun, or are over: read back, edit, clone, delete."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType, convert, structs

from postroad.api.request import Request
from postroad.api.routes.campaigns import FailuresMin, Given, Jobs, Percent, TemplateText
from postroad.api.routing import drop, fetch, give
from postroad.model.blobs import Attachment
from postroad.model.campaign import HaltRule
from postroad.model.texts import Id, Name
from postroad.model.tokens import Scope
from postroad.verbs.campaign_drafts import CampaignDetails, CampaignOptions
from postroad.verbs.campaign_status import CampaignStatus


class EditRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What to change of a campaign; what is left out stays."""

    credential: Name | UnsetType = UNSET
    template: TemplateText | UnsetType = UNSET
    subject: TemplateText | UnsetType = UNSET
    html: TemplateText | UnsetType = UNSET
    attachments: tuple[Attachment, ...] | UnsetType = UNSET
    zone: Id | UnsetType = UNSET
    recipient: Given | UnsetType = UNSET
    jobs: Jobs | UnsetType = UNSET
    failures_min: FailuresMin | UnsetType = UNSET
    failures_percent: Percent | UnsetType = UNSET


class CloneRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a campaign's clone, and whether it gets the recipients too."""

    to: Given
    recipients: bool = False


@fetch("/v1/campaigns/{name}/details", scope=Scope.read)
async def campaign_details(request: Request, name: str) -> CampaignDetails:
    """Show the credential, template and options of a campaign."""
    campaigns, tenant = request.road.campaigns, request.tenant
    return await campaigns.details(name, tenant=tenant)


@give("/v1/campaigns/{name}/edit", scope=Scope.manage)
async def campaign_edit(request: Request, asked: EditRequest, name: str) -> CampaignStatus:
    """Change the credential, template or options of a draft or a scheduled campaign."""
    campaigns, tenant = request.road.campaigns, request.tenant
    old = (await campaigns.details(name, tenant=tenant)).halt
    given = {key: value for key, value in structs.asdict(asked).items() if value is not UNSET}
    failures_min = given.pop("failures_min", old.failures_min)
    halt = HaltRule(failures_min, given.pop("failures_percent", old.percent))
    options = convert({**given, **({} if halt == old else {"halt": halt})}, CampaignOptions)
    return await campaigns.edit(name, tenant=tenant, **options)


@give("/v1/campaigns/{name}/clone", scope=Scope.manage, status=201)
async def campaign_clone(request: Request, asked: CloneRequest, name: str) -> CampaignStatus:
    """Create a draft like a campaign, with or without its recipients."""
    campaigns, tenant = request.road.campaigns, request.tenant
    return await campaigns.clone(name, asked.to, recipients=asked.recipients, tenant=tenant)


@drop("/v1/campaigns/{name}", scope=Scope.manage, status=204)
async def campaign_delete(request: Request, name: str) -> None:
    """Delete a draft, a cancelled or a done campaign with its recipients and results."""
    campaigns, tenant = request.road.campaigns, request.tenant
    await campaigns.delete(name, tenant=tenant)


ROUTES: Final = (campaign_details, campaign_edit, campaign_clone, campaign_delete)
