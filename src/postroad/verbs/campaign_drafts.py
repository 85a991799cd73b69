"""Drafts of campaigns: made, edited, cloned and deleted."""

from collections.abc import Sequence
from typing import Final, TypedDict, Unpack

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.campaigns.rendering import check_attachments, templates_of
from postroad.model.blobs import Attachment, BlobUse
from postroad.model.campaign import Campaign, CampaignState, HaltRule, Spec, WrongState
from postroad.model.credential import Credential
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput
from postroad.model.hours import check_zone
from postroad.ports.campaigns import CampaignStore, Import, NewRows
from postroad.ports.usage import CountedKind
from postroad.verbs.allowance import Allowance
from postroad.verbs.attachments import AttachmentHolds
from postroad.verbs.campaign_status import CampaignFinder, CampaignStatus
from postroad.verbs.credentials import CredentialAdmin

JOBS_MAX: Final = 64
NAME_CHARACTERS_MAX: Final = 200
SLICE: Final = 2_000
"""Recipients that one transaction copies or deletes; other writers go between two of them."""
EDITABLE: Final = frozenset((CampaignState.draft, CampaignState.scheduled))


class MailTemplates(TypedDict, total=False):
    """What only mail has, beside its text."""

    subject: str
    html: str
    attachments: Sequence[Attachment]
    """Stored ones, as `attachments.put` returns them; with `cid` an image in the HTML."""


class MoreOptions(MailTemplates, total=False):
    """What else a campaign may have."""

    zone: str
    """The recipients' time zone, by which allowed hours go; a column `zone` counts before it."""


class CampaignOptions(MoreOptions, total=False):
    """What of a campaign can be edited."""

    credential: str
    template: str
    recipient: str
    jobs: int
    halt: HaltRule


class CampaignDetails(Struct, frozen=True):
    """What a campaign sends, to whom and how: what was given when it was created or edited."""

    credential: str
    template: str
    subject: str
    html: str
    recipient: str
    jobs: int
    halt: HaltRule
    attachments: tuple[Attachment, ...]
    zone: str
    columns: tuple[str, ...]
    """The columns of its recipients; none before an import."""
    import_line: int = 0
    """Where an unfinished import stands in its file; 0 if there is none."""


def attachments_of(given: object) -> tuple[Attachment, ...]:
    """What a campaign refers to; BadInput says what is wrong with one."""
    try:
        return msgspec.convert(given, tuple[Attachment, ...])
    except msgspec.ValidationError as error:
        raise BadInput(f"attachments: {error}: give what attachments.put has returned") from None


class CampaignDrafts:
    """Makes and changes campaigns that have not begun."""

    def __init__(
        self,
        store: CampaignStore,
        credentials: CredentialAdmin,
        allowance: Allowance,
        find: CampaignFinder,
        holds: AttachmentHolds,
    ) -> None:
        self._find = find
        self._holds = holds
        self._store = store
        self._credentials = credentials
        self._allowance = allowance

    async def create(self, tenant: str, name: str, credential: str, spec: Spec) -> None:
        """Store a draft without recipients."""
        _check_name(name)
        _check_spec(spec)
        found = await self._credentials.get(credential, tenant)
        channel = self._credentials.channel(found)
        templates_of(spec).check_parts(channel)
        check_attachments(spec, channel)
        await self._holds.check(tenant, _uses(spec, 0))
        _ = await self._store_draft(tenant, name, found.id, spec)  # it is there

    async def _store_draft(self, tenant: str, name: str, credential: int, spec: Spec) -> Campaign:
        await self._allowance.one_more(CountedKind.campaigns, tenant)
        if not await self._store.create(tenant, name, credential, spec):
            raise WrongState(f"there is a campaign {name!r} already: give another name")
        made = await self._find.get(name, tenant)
        await self.hold(made)
        return made

    async def hold(self, campaign: Campaign) -> None:
        """Keep a campaign's attachments while there is the campaign; BadInput when one is gone."""
        await self._holds.hold(campaign.tenant, _uses(campaign.spec, campaign.id))

    async def details(self, name: str, *, tenant: str = DEFAULT_TENANT) -> CampaignDetails:
        """The credential, template and options of a campaign, and the columns of its recipients."""
        campaign = await self._find.get(name, tenant)
        spec, credential = campaign.spec, await self._find.credential(campaign)
        texts = (credential.name, spec.template, spec.subject, spec.html)
        rest = (spec.halt, spec.attachments, spec.zone, campaign.columns)
        current = await self._store.importing(campaign.id)
        line = current.line or 1 if current else 0
        return CampaignDetails(*texts, spec.recipient, spec.jobs, *rest, line)

    async def edit(
        self, name: str, *, tenant: str = DEFAULT_TENANT, **options: Unpack[CampaignOptions]
    ) -> CampaignStatus:
        """Change the credential, template or options of a draft or a scheduled campaign. The
        template has to fit the recipients that are imported."""
        campaign = await self._find.get(name, tenant)
        await self._edit(campaign, await self._find.credential(campaign), options)
        return await self._find.status(await self._find.get(name, tenant))

    async def _edit(self, campaign: Campaign, old: Credential, options: CampaignOptions) -> None:
        if campaign.state not in EDITABLE:
            raise WrongState(
                f"campaign {campaign.name!r} is {campaign.state}: only a draft or a scheduled one "
                "can be edited; clone it, and edit the clone"
            )
        given = dict(options)
        named = str(given.pop("credential", old.name))
        credential = await self._credentials.get(named, campaign.tenant)
        if "attachments" in given:
            given["attachments"] = attachments_of(options["attachments"])
        spec = replace(campaign.spec, **given)
        _check_spec(spec)
        channel = self._credentials.channel(credential)
        templates_of(spec).check_parts(channel)
        check_attachments(spec, channel)
        await self.hold(replace(campaign, spec=spec))
        if campaign.columns:
            templates_of(spec).check(campaign.columns)
            _check_imported(campaign, spec, credential, old)
        if await self._store.edit(campaign, credential.id, spec):
            keep = [one.id for one in spec.attachments]
            await self._holds.release(campaign.tenant, -campaign.id, keep)
            return
        importing = await self._store.importing(campaign.id)
        why = f"an import stands at line {importing.line}" if importing else "it has just changed"
        raise WrongState(f"campaign {campaign.name!r} was not edited: {why}; look at it again")

    async def clone(
        self, name: str, to: str, *, recipients: bool = False, tenant: str = DEFAULT_TENANT
    ) -> CampaignStatus:
        """Create a draft `to` with the credential, template and options of a campaign, and, if
        asked for, its recipients, none of them sent to."""
        await self._clone(await self._find.get(name, tenant), to, recipients=recipients)
        return await self._find.status(await self._find.get(to, tenant))

    async def _clone(self, campaign: Campaign, to: str, *, recipients: bool) -> None:
        """Recipients are copied as an import is: a clone that broke off is not started."""
        _check_name(to)
        if recipients:
            await self._allowance.one_more(CountedKind.imports, campaign.tenant)
        made = await self._store_draft(campaign.tenant, to, campaign.credential, campaign.spec)
        if not recipients or not campaign.columns:
            return
        new = Import(made.id, f"clone of {campaign.id}", campaign.columns)
        at = await self._store.open_import(new)
        while page := await self._store.rows(campaign.id, at.line, SLICE):
            lines = [row.n for row in page]
            rows = NewRows(lines, [row.recipient for row in page], [row.fields for row in page])
            _ = await self._store.load(at, rows)  # of one campaign there are no duplicates
            at = replace(at, line=lines[-1])
        if not await self._store.end_import(made.id, keep=True):
            raise WrongState(f"campaign {to!r} was changed while its recipients were copied")

    async def delete(self, name: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Delete a draft, a cancelled or a done campaign with its recipients and results, slice by
        slice. Once begun, it never starts."""
        campaign = await self._find.get(name, tenant)
        gone: bool | None = False
        while gone is False:
            gone = await self._store.delete_some(campaign.id, SLICE)
        now = None if gone else await self._store.campaign_by_id(campaign.id)
        if now is None:
            return
        if now.state in (CampaignState.draft, CampaignState.cancelled, CampaignState.done):
            raise WrongState(f"campaign {now.name!r} is being finalised: try again soon")
        raise WrongState(
            f"campaign {now.name!r} is {now.state}: only a draft, a cancelled or a done one can be "
            "deleted; cancel it first"
        )


def _uses(spec: Spec, campaign: int) -> list[BlobUse]:
    return [BlobUse(one.id, -campaign) for one in spec.attachments]


def _check_name(name: str) -> None:
    if not name or len(name) > NAME_CHARACTERS_MAX or not name.isprintable():
        raise BadInput(f"name {name!r}: give 1 to {NAME_CHARACTERS_MAX} letters")


def _check_spec(spec: Spec) -> None:
    if not 1 <= spec.jobs <= JOBS_MAX:
        raise BadInput(f"jobs={spec.jobs}: give 1 to {JOBS_MAX}")
    if not spec.recipient:
        raise BadInput("recipient is empty: name the column that holds the number or URL")
    if spec.zone:
        _ = check_zone(spec.zone)  # raises
    _ = templates_of(spec)  # whether it can be read


def _check_imported(campaign: Campaign, spec: Spec, new: Credential, old: Credential) -> None:
    """Refuse what the recipients that are there were not checked for."""
    if spec.recipient != campaign.spec.recipient:
        raise WrongState(
            f"the recipients of campaign {campaign.name!r} are those of column "
            f"{campaign.spec.recipient!r}: clone it without them, and import the file again"
        )
    if new.kind != old.kind:
        raise WrongState(
            f"the recipients of campaign {campaign.name!r} are for {old.kind}, and the credential "
            f"is for {new.kind}: clone it without them, and import others"
        )
