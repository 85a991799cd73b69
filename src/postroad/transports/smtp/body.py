"""The body of a mail as it is sent to Postroad: read and checked at the door, and again when it is
sent."""

import re
from base64 import b64decode
from typing import Final

import msgspec
from msgspec import Struct, field

from postroad.model.blobs import BLOB_BYTES_MAX, NAME
from postroad.model.errors import BadInput, BodyTooLarge
from postroad.model.mail_links import UNSUBSCRIBE_MARK
from postroad.model.suppression import Reason
from postroad.transports.smtp.headers import ADDRESSES, check_headers, check_text, mailbox

ATTACHMENTS_MAX: Final = 50
FILE_NAME_MAX: Final = 200
TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]{0,63}/[a-z0-9][a-z0-9.+-]{0,126}", re.IGNORECASE)
CID: Final = re.compile(r"[A-Za-z0-9._@-]{1,100}")
SUBJECT_MAX: Final = 500


class AttachmentSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """An attachment: a stored one by its id, or its content in base64."""

    id: str = ""
    content: str = ""
    name: str = ""
    type: str = "application/octet-stream"
    cid: str = ""
    """Shown inside the HTML as <img src="cid:…">."""
    size: int = 0
    """As `attachments.put` said it; nobody looks at it."""


class MailBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What a mail says, and to whom it seems to be from."""

    subject: str
    text: str = ""
    html: str = ""
    sender: str = field(name="from", default="")
    reply_to: str = ""
    to: str = ""
    """The recipient with a name, as in `Ann Lee <ann@example.com>`."""
    headers: dict[str, str] = {}
    attachments: tuple[AttachmentSpec, ...] = ()
    unsubscribe: bool = False
    """Whether it says how to leave, as mails of campaigns do."""
    despite: tuple[Reason, ...] = ()
    """Reasons on the suppression list that do not count for this mail."""


DECODER: Final = msgspec.json.Decoder(MailBody)


def read_body(body: bytes) -> MailBody:
    """Read a body; BadInput says what is wrong with it."""
    try:
        return DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f'this is no mail: {error}; give {{"subject": …, "text": …}} and what else '
            "docs/guide/mail.md names"
        ) from None


def check_body(body: MailBody) -> None:
    """Check that a mail can be sent as it is; BadInput says why not."""
    subject = check_text("the subject", body.subject)
    if not subject.strip():
        raise BadInput("the subject is empty: mails without one are taken for spam")
    if len(subject) > SUBJECT_MAX:
        raise BadInput(f"the subject has {len(subject)} characters: at most {SUBJECT_MAX}")
    if not body.text.strip() and not body.html.strip():
        raise BadInput("the mail is empty: give `text`, `html`, or both")
    if "\0" in body.text or "\0" in body.html:
        raise BadInput("the text has a zero character in it: remove it")
    for address in filter(None, (body.sender, body.reply_to, body.to)):
        _ = mailbox(address)  # whether it is one
    check_headers(body.headers)
    for name, value in body.headers.items():
        if name.lower() in ADDRESSES:
            _ = mailbox(value)  # whether it is one
    check_attachments(body)


def needs_link(body: MailBody) -> bool:
    """Whether a mail has a link by which its recipient unsubscribes."""
    return body.unsubscribe or UNSUBSCRIBE_MARK in body.text or UNSUBSCRIBE_MARK in body.html


def check_attachments(body: MailBody) -> None:
    """Check names and types of attachments, and that each is there once."""
    if len(body.attachments) > ATTACHMENTS_MAX:
        raise BadInput(f"{len(body.attachments)} attachments: at most {ATTACHMENTS_MAX}")
    for number, one in enumerate(body.attachments, 1):
        what = f"attachment {number}"
        check_file(what, one.name, one.type, one.cid)
        if bool(one.id) == bool(one.content) or (one.id and not NAME.fullmatch(one.id)):
            raise BadInput(f"{what}: give the `id` of a stored one, or its `content` in base64")
    cids = [one.cid for one in body.attachments if one.cid]
    if len(set(cids)) < len(cids):
        raise BadInput("two attachments have the same cid")
    _check_contents(body)


def check_file(what: str, name: str, kind: str, cid: str = "") -> None:
    """Check the name and type of a file; BadInput says what is wrong."""
    if len(name) > FILE_NAME_MAX or "/" in name or "\\" in name:
        raise BadInput(f"{what}: its name is too long, or has a slash in it")
    _ = check_text(f"the name of {what}", name)  # whether it can stand in a header
    if not TYPE.fullmatch(kind) or kind.lower().startswith(("multipart/", "message/")):
        raise BadInput(f"{what}: {kind[:60]!r} is no type, as image/png")
    if cid and not CID.fullmatch(cid):
        raise BadInput(f"{what}: cid {cid[:60]!r}: give letters, digits, and . _ @ -")


def _check_contents(body: MailBody) -> None:
    """Check that contents are base64, and not too large together."""
    size = 0
    for number, one in enumerate(body.attachments, 1):
        try:
            size += len(b64decode(one.content, validate=True))
        except ValueError:
            raise BadInput(f"attachment {number}: its content is no base64") from None
    if size > BLOB_BYTES_MAX:
        raise BodyTooLarge(f"the attachments have {size} bytes: at most {BLOB_BYTES_MAX}")
