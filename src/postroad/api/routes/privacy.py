"""Export and erase what is stored about a tenant or a recipient."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.paging import Limit
from postroad.api.progress import NDJSON
from postroad.api.request import Request, Stream
from postroad.api.routing import fetch, give
from postroad.model.errors import BadInput
from postroad.model.privacy import Erasure, Subject
from postroad.model.texts import QueueName
from postroad.model.tokens import Scope

Number = Annotated[int, Meta(ge=1, le=1 << 62)]
After = Annotated[int, Meta(ge=0, le=1 << 62, description="The number of the last one seen")]
WAIT_MAX_S: Final = 40


class PrivacyRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose data: one `recipient` (the name of a queue, a recipient of campaigns, a mailbox), or
    with `everything` all of the tenant."""

    recipient: QueueName = ""
    everything: bool = False


def _subject(request: Request, asked: PrivacyRequest) -> Subject:
    if asked.everything == bool(asked.recipient):
        raise BadInput("say whose: a recipient, or everything of the tenant; one of them")
    subject = Subject(request.tenant, asked.recipient)
    if subject.recipient:  # the log is not to know whom
        request.noted["recipient_sha256"] = subject.digest
    return subject


@give("/v1/privacy:export", scope=Scope.admin, gives_media=(NDJSON,))
async def privacy_export(request: Request, asked: PrivacyRequest) -> Stream:
    """Export all that is stored about a recipient, or about the whole tenant, as NDJSON, without
    secrets."""
    subject = _subject(request, asked)
    privacy = request.road.privacy
    pieces = privacy.export(tenant=subject.tenant, recipient=asked.recipient or None)
    return Stream(pieces, media_type=NDJSON)


@give("/v1/privacy:erase", scope=Scope.admin, status=202)
async def privacy_erase(request: Request, asked: PrivacyRequest) -> Erasure:
    """Erase all that is stored about a recipient, or about the whole tenant. The job is stored when
    this answers, and goes on by itself."""
    subject = _subject(request, asked)
    privacy = request.road.privacy
    made = await privacy.erase(tenant=subject.tenant, recipient=asked.recipient or None)
    request.noted["erasure"] = str(made.id)
    request.context.access.forget()  # its tokens end
    return made


@fetch("/v1/privacy/erasures", scope=Scope.admin)
async def erasure_list(request: Request, limit: Limit = 100, after: After = 0) -> list[Erasure]:
    """List erasures, the newest first. A token of every tenant sees those of all."""
    privacy = request.road.privacy
    return list(await privacy.erasures(after=after, limit=limit, tenant=_tenant(request)))


@fetch("/v1/privacy/erasures/{id}", scope=Scope.admin)
async def erasure_show(
    request: Request,
    id: Number,  # noqa: A002
    wait_s: Annotated[float, Meta(ge=0, le=WAIT_MAX_S)] = 0.0,
) -> Erasure:
    """Show how far an erasure is, and what it has erased; wait for its end for `wait_s`."""
    return await request.road.privacy.erasure(id, tenant=_tenant(request), wait=wait_s)


def _tenant(request: Request) -> str | None:
    every = request.who.every_tenant and request.headers.get("postroad-tenant") is None
    return None if every else request.tenant


ROUTES: Final = (privacy_export, privacy_erase, erasure_list, erasure_show)
