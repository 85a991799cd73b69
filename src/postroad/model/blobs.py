"""Contents that are stored once: their names, how large they may be, and how messages refer to
them."""

import re
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from postroad.model.entities import DAY_MS
from postroad.model.errors import BadInput
from postroad.model.texts import Id, Name

PREFIX: Final = "blob_"
NAME: Final = re.compile(r"blob_[0-9a-f]{48}")
BLOB_BYTES_MAX: Final = 18 << 20
"""Maximum size of one content, and of all attachments of a mail: as base64 they have 25 MB, which
is what large providers take."""
UNUSED_MS: Final = 7 * DAY_MS
"""How long a content is kept that nothing uses."""


class UnknownAttachment(BadInput):
    """No attachment of that id is stored. It is deleted a week after nothing has needed it: put it
    again."""


class AttachmentInUse(BadInput):
    """A message or a campaign needs the attachment. It is deleted by itself when none does."""


class Attachment(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A stored attachment, as mails and campaigns refer to it."""

    id: Id
    name: Name = ""
    type: Name = "application/octet-stream"
    cid: Name = ""
    """An HTML text shows it as <img src="cid:…">."""
    size: int = 0


class StoredBlob(Struct, frozen=True):
    """A stored content, without it."""

    id: str
    size: int
    used_at_ms: int
    """When it was put or referred to last."""


class BlobUse(Struct, frozen=True):
    """A message, by its id, or a campaign, by its number below zero, that needs a content."""

    blob: str
    holder: int


def blob_name(content: bytes) -> str:
    """Name a content by its digest."""
    return PREFIX + blake2b(content, digest_size=24).hexdigest()
