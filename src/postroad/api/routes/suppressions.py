"""Suppression lists: list, add, remove, import, export."""

from collections.abc import AsyncIterator
from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.everywhere import Everywhere, whose
from postroad.api.paging import After, Limit
from postroad.api.progress import NDJSON
from postroad.api.request import Request, Stream
from postroad.api.routing import drop, fetch, give
from postroad.api.uploads import file_name, uploaded
from postroad.campaigns.suppression_files import FORMATS
from postroad.model.suppression import Reason, Suppression
from postroad.model.texts import NAME_MAX, ErrorText, Name, QueueName
from postroad.model.tokens import Scope
from postroad.verbs.mail_reports import ReportTaken
from postroad.verbs.suppressions import ImportedSuppressions, SuppressionPage

BIG: Final = 1 << 62
Recipient = Annotated[QueueName, Meta(min_length=1, description="A mail address or a number")]
Whom = Annotated[QueueName, Meta(description="Only this one, in any writing")]
SentTo = Annotated[QueueName, Meta(description="The address that the mail was sent to")]
Format = Annotated[str, Meta(pattern="^(csv|ndjson)$")]
FileName = Annotated[str, Meta(max_length=NAME_MAX, description="Its name, for what is said of it")]
Skip = Annotated[bool, Meta(description="Leave out invalid lines")]
MEDIA: Final = dict(zip(FORMATS, ("text/csv", NDJSON), strict=True))


class SuppressionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A recipient that is not to be sent to; with `everywhere` by no tenant."""

    recipient: Recipient
    reason: Reason = Reason.by_hand
    campaign: Name = ""
    message: Name = ""
    note: ErrorText = ""
    everywhere: bool = False


class SuppressionExportRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Which list, and in which form."""

    format: Format = "csv"
    reason: Reason | None = None
    everywhere: bool = False


class SuppressionsRemoved(Struct, frozen=True):
    """How many entries went."""

    count: int


class SuppressionsFile(Struct, frozen=True):
    """A CSV file with a column `recipient`, or NDJSON with an object a line."""


@fetch("/v1/suppressions", scope=Scope.read)
async def suppression_list(
    request: Request,
    limit: Limit = 100,
    after: After = "",
    reason: Reason | None = None,
    recipient: Whom = "",
    everywhere: Everywhere = False,
) -> SuppressionPage:
    """List who is not sent to, the newest first."""
    tenant = whose(request, everywhere=everywhere)
    return await request.road.suppressions.list(
        reason=reason or "", recipient=recipient, limit=limit, after=after, tenant=tenant
    )


@give("/v1/suppressions", scope=Scope.manage, status=201)
async def suppression_add(request: Request, asked: SuppressionRequest) -> Suppression:
    """Send no more to a recipient. One that is on the list for this reason stays as it is."""
    tenant = whose(request, everywhere=asked.everywhere)
    made = await request.road.suppressions.add(
        asked.recipient,
        asked.reason,
        campaign=asked.campaign,
        message=asked.message,
        note=asked.note,
        tenant=tenant,
    )
    request.noted["recipient"] = made.recipient
    return made


@drop("/v1/suppressions", scope=Scope.manage)
async def suppression_remove(
    request: Request,
    recipient: Recipient,
    reason: Reason | None = None,
    everywhere: Everywhere = False,
) -> SuppressionsRemoved:
    """Take a recipient off the list, for one reason or for all."""
    tenant = whose(request, everywhere=everywhere)
    request.noted["recipient"] = recipient
    gone = await request.road.suppressions.remove(recipient, reason or "", tenant=tenant)
    return SuppressionsRemoved(gone)


@give(
    "/v1/suppressions:import",
    scope=Scope.manage,
    bytes_max=BIG,
    takes=SuppressionsFile,
    takes_media="text/csv",
)
async def suppression_import(
    request: Request,
    format: Format = "csv",  # noqa: A002 - the word that clients use
    skip_invalid: Skip = False,
    file: FileName = "",
    everywhere: Everywhere = False,
) -> ImportedSuppressions:
    """Add all entries of a file, CSV or NDJSON; none if a line is invalid. A file may be imported
    again."""
    tenant = whose(request, everywhere=everywhere)
    async with uploaded(request, file_name(file, f"suppressions.{format}")) as path:
        return await request.road.suppressions.import_(
            path, format, skip_invalid=skip_invalid, tenant=tenant
        )


@give("/v1/suppressions:export", scope=Scope.manage, gives_media=tuple(MEDIA.values()))
async def suppression_export(request: Request, asked: SuppressionExportRequest) -> Stream:
    """Export the list as CSV or NDJSON, which the import reads."""
    tenant = whose(request, everywhere=asked.everywhere)

    async def pieces() -> AsyncIterator[bytes]:
        lists = request.road.suppressions
        async for piece in lists.export(asked.format, reason=asked.reason or "", tenant=tenant):
            yield piece.encode()

    return Stream(pieces(), media_type=MEDIA[asked.format])


class ReturnedMail(Struct, frozen=True):
    """A whole mail (RFC 5322), as it came."""


@give(
    "/v1/suppressions:report",
    scope=Scope.manage,
    takes=ReturnedMail,
    takes_media="message/rfc822",
)
async def suppression_report(request: Request, to: SentTo = "") -> ReportTaken:
    """Take a mail that came back: a bounce or a complaint about a message of this road."""
    lists = request.road.suppressions
    return await lists.take_report(await request.body(), to=to, tenant=request.tenant)


ROUTES: Final = (
    suppression_report,
    suppression_list,
    suppression_add,
    suppression_remove,
    suppression_import,
    suppression_export,
)
