"""Attachments: stored once, and referred to by mails."""

import asyncio
from collections import OrderedDict
from mimetypes import guess_type
from pathlib import Path
from typing import Final

from msgspec import Struct

from postroad.model.blobs import BLOB_BYTES_MAX, blob_name
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, BodyTooLarge, NotOnRabbitMQ, TenantFull
from postroad.model.tenant_limits import TenantLimits
from postroad.ports.blobs import Blobs
from postroad.ports.store import Store
from postroad.transports.smtp.body import check_file
from postroad.transports.smtp.mime import base64_lines
from postroad.verbs.bounding import bounded

CACHE_BYTES_MAX: Final = 64 << 20
UNKNOWN_TYPE: Final = "application/octet-stream"


class Attachment(Struct, frozen=True):
    """A stored attachment. It can stand in the `attachments` of a mail as it is."""

    id: str
    name: str
    type: str
    size: int


@bounded
class Attachments:
    """Put attachments that mails refer to. Each is kept while a message or campaign uses it, and
    for a week."""

    def __init__(self, store: Store, limits: TenantLimits) -> None:
        self._store = store
        self._limits = limits

    async def put(
        self,
        content: bytes | str | Path,
        name: str = "",
        type: str = "",  # noqa: A002 - the word that mails use
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> Attachment:
        """Store a content, bytes or the path of a file, and return what a mail refers to it by. The
        same content is stored once."""
        if isinstance(content, str | Path):
            path = Path(content)
            name = name or path.name
            content = await asyncio.to_thread(_read, path)
        kind = type or guess_type(name)[0] or UNKNOWN_TYPE
        check_file("the attachment", name, kind)
        blobs = blobs_of(self._store)
        if not content or len(content) > BLOB_BYTES_MAX:
            raise BodyTooLarge(
                f"the attachment has {len(content)} bytes: give 1 to {BLOB_BYTES_MAX}"
            )
        most = self._limits.messages_bytes_max
        if await blobs.blob_bytes(tenant) + len(content) > most:
            raise TenantFull(
                f"tenant {tenant!r} has as many bytes of attachments as it may have: raise the "
                "setting `tenants.messages_bytes_max`, or wait until old ones are deleted"
            )
        blob = blob_name(content)
        await blobs.blob_put(tenant, blob, content)
        return Attachment(blob, name, kind, len(content))


def blobs_of(store: Store) -> Blobs:
    """The store's contents; NotOnRabbitMQ where it has none."""
    if not isinstance(store, Blobs):
        raise NotOnRabbitMQ(
            "attachments cannot be stored beside a broker: give their `content` in the mail"
        )
    return store


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(BLOB_BYTES_MAX + 1)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None


class EncodedBlobs:
    """Contents as mails have them, in base64; those that were used last are kept in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._size = 0

    async def fetch(self, tenant: str, blob: str) -> bytes:
        """Return a content in base64; BadInput when it is gone."""
        kept = self._kept.get((tenant, blob))
        if kept is not None:
            self._kept.move_to_end((tenant, blob))
            return kept
        content = await blobs_of(self._store).blob_get(tenant, blob)
        if content is None:
            raise BadInput(f"there is no attachment {blob}")
        encoded = await asyncio.to_thread(base64_lines, content)
        self._keep((tenant, blob), encoded)
        return encoded

    def _keep(self, place: tuple[str, str], encoded: bytes) -> None:
        self._kept[place] = encoded
        self._size += len(encoded)
        while self._size > CACHE_BYTES_MAX:
            self._size -= len(self._kept.popitem(last=False)[1])
