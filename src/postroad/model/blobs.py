"""Contents that are stored once: their names, and how large they may be."""

from hashlib import blake2b
from typing import Final

PREFIX: Final = "blob_"
BLOB_BYTES_MAX: Final = 18 << 20
"""Of one content, and of all attachments of a mail: as base64 they have 25 MB, which is what large
providers take."""


def blob_name(content: bytes) -> str:
    """Name a content by its digest."""
    return PREFIX + blake2b(content, digest_size=16).hexdigest()
