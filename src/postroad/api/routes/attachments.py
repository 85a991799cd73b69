"""Attachments: put, list, read, remove."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.paging import After, Limit
from postroad.api.request import Request, Response
from postroad.api.routing import drop, fetch, give
from postroad.model.blobs import BLOB_BYTES_MAX, Attachment
from postroad.model.texts import NAME_MAX, Name
from postroad.model.tokens import Scope
from postroad.verbs.attachments import UNKNOWN_TYPE, AttachmentPage

FileName = Annotated[str, Meta(max_length=NAME_MAX, description="As mail programs show it")]
FileType = Annotated[Name, Meta(description="As image/png; else it is found by its name")]
Cid = Annotated[Name, Meta(description='HTML shows it as <img src="cid:…">')]


class AttachmentContent(Struct, frozen=True):
    """The bytes of a file."""


@give(
    "/v1/attachments",
    scope=Scope.send,
    status=201,
    bytes_max=BLOB_BYTES_MAX,
    takes=AttachmentContent,
    takes_media=UNKNOWN_TYPE,
)
async def attachment_put(
    request: Request,
    name: FileName = "",
    type: FileType = "",  # noqa: A002 - the word that clients use
    cid: Cid = "",
) -> Attachment:
    """Store a file that mails and campaigns refer to. The same content is stored once."""
    content, here = await request.body(), request.road.attachments
    return await here.put(content, name, type, cid, tenant=request.tenant)


@fetch("/v1/attachments", scope=Scope.read)
async def attachment_list(
    request: Request, limit: Limit = 100, after: After = ""
) -> AttachmentPage:
    """List stored attachments by id."""
    here = request.road.attachments
    return await here.list(limit=limit, after=after, tenant=request.tenant)


@fetch("/v1/attachments/{id}", scope=Scope.bodies, gives_media=(UNKNOWN_TYPE,))
async def attachment_get(
    request: Request,
    id: str,  # noqa: A002
) -> Response[bytes]:
    """Read the content of an attachment."""
    content = await request.road.attachments.get(id, tenant=request.tenant)
    return Response(content, media_type=UNKNOWN_TYPE)


@drop("/v1/attachments/{id}", scope=Scope.manage, status=204)
async def attachment_remove(
    request: Request,
    id: str,  # noqa: A002
) -> None:
    """Delete an attachment that no message and no campaign needs."""
    await request.road.attachments.remove(id, tenant=request.tenant)


ROUTES: Final = (attachment_put, attachment_list, attachment_get, attachment_remove)
