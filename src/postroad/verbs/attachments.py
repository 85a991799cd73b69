"""Attachments: stored once, and referred to by mails and campaigns."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from mimetypes import guess_type
from typing import Final

from msgspec import Struct

from postroad.engine.drafting import Send
from postroad.model.blobs import (
    BLOB_BYTES_MAX,
    Attachment,
    AttachmentInUse,
    BlobUse,
    StoredBlob,
    UnknownAttachment,
    blob_name,
)
from postroad.model.entities import DEFAULT_TENANT, Draft
from postroad.model.errors import (
    BadInput,
    BodyTooLarge,
    NotOnRabbitMQ,
    TenantFull,
)
from postroad.ports.blobs import Blobs
from postroad.ports.joining import Joins
from postroad.ports.store import Store
from postroad.transports.smtp.body import check_file
from postroad.verbs.allowance import Allowance, raise_limit
from postroad.verbs.bounding import bounded
from postroad.verbs.paging import check_page

UNKNOWN_TYPE: Final = "application/octet-stream"
REMOVED: Final = "an attachment was removed meanwhile: put it again"


class AttachmentPage(Struct, frozen=True):
    """A page of stored attachments by id. `after` is for the next page; "" is the end."""

    attachments: tuple[StoredBlob, ...]
    after: str = ""


@bounded
class Attachments:
    """Store files that mails and campaigns refer to. Each is kept while one of them needs it, and
    for a week."""

    def __init__(self, store: Store, allowance: Allowance) -> None:
        self._store = store
        self._allowance = allowance

    async def put(
        self,
        content: bytes,
        name: str = "",
        type: str = "",  # noqa: A002 - the word that mails use
        cid: str = "",
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> Attachment:
        """Store a content, and return what a mail refers to it by. The same content is stored once.
        Its type is found by its name unless given; an HTML text shows one with a `cid`."""
        kind = type or guess_type(name)[0] or UNKNOWN_TYPE
        check_file("the attachment", name, kind, cid)
        if not content:
            raise BadInput("the attachment is empty: give its content")
        if len(content) > BLOB_BYTES_MAX:
            raise BodyTooLarge(
                f"the attachment has {len(content)} bytes: at most {BLOB_BYTES_MAX}; link to it"
            )
        blobs, blob = blobs_of(self._store), blob_name(content)
        if not await blobs.blob_sizes(tenant, [blob]):
            await self._check_room(blobs, tenant, len(content))
        await blobs.blob_put(tenant, blob, content, self._store.clock.now_ms())
        return Attachment(blob, name, kind, cid, len(content))

    async def _check_room(self, blobs: Blobs, tenant: str, size: int) -> None:
        has = await blobs.blob_bytes(tenant)
        most = (await self._allowance.limits_of(tenant)).attachments_bytes_max
        if has + size > most:
            raise TenantFull(
                f"tenant {tenant!r} has {has:,} bytes of attachments, and may have {most:,}; "
                f"nothing of this was stored: {raise_limit(tenant, 'attachments_bytes_max')}, or "
                "remove some"
            )

    async def get(
        self,
        id: str,  # noqa: A002 - the word that mails use
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> bytes:
        """Read the content of an attachment."""
        content = await blobs_of(self._store).blob_get(tenant, id)
        if content is None:
            raise UnknownAttachment(f"there is no attachment {id!r}")
        return content

    async def list(
        self, *, limit: int = 100, after: str = "", tenant: str = DEFAULT_TENANT
    ) -> AttachmentPage:
        """List a tenant's attachments by id."""
        check_page(limit)
        found = await blobs_of(self._store).blob_page(tenant, after, limit)
        return AttachmentPage(tuple(found), found[-1].id if len(found) == limit else "")

    async def remove(
        self,
        id: str,  # noqa: A002
        *,
        tenant: str = DEFAULT_TENANT,
    ) -> None:
        """Delete an attachment that no message and no campaign needs."""
        blobs = blobs_of(self._store)
        if await blobs.blob_drop(tenant, id, self._store.clock.now_ms()):
            return
        if not await blobs.blob_sizes(tenant, [id]):
            raise UnknownAttachment(f"there is no attachment {id!r}")
        raise AttachmentInUse(
            f"attachment {id!r} is in use: a message that is not delivered needs it, a campaign "
            "refers to it, or one was sent within ten minutes"
        )


class AttachmentHolds:
    """Notes which messages and campaigns need which attachments, before they are stored."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def hold(self, tenant: str, uses: Sequence[BlobUse]) -> None:
        """Check uses, and note them."""
        if uses:
            await self.check(tenant, uses)
            now_ms = self._store.clock.now_ms()
            if not await blobs_of(self._store).blob_use(tenant, uses, now_ms):
                raise BadInput(REMOVED)

    async def hold_in(self, store: Joins, connection: object, send: Send, draft: Draft) -> None:
        """Check what a message uses, and note it inside the caller's transaction."""
        uses = [BlobUse(blob, draft.id) for blob in draft.blobs]
        if uses:
            await self.check(send.tenant, uses)
            now_ms = self._store.clock.now_ms()
            if not await store.hold_in(connection, send.tenant, uses, now_ms):
                raise BadInput(REMOVED)

    async def release(self, tenant: str, holder: int, keep: Sequence[str]) -> None:
        """Let go what a campaign refers to no longer."""
        if isinstance(self._store, Blobs):
            await self._store.blob_release(tenant, holder, keep)

    async def check(self, tenant: str, uses: Sequence[BlobUse]) -> None:
        """Raise BadInput when an attachment is not there, BodyTooLarge when those of one message
        are too large together."""
        if not uses:
            return
        sums = Counter[int]()
        sizes = await blobs_of(self._store).blob_sizes(tenant, [use.blob for use in uses])
        for use in uses:
            if use.blob not in sizes:
                raise BadInput(f"there is no attachment {use.blob!r}: put it first")
            sums[use.holder] += sizes[use.blob]
        if (most := max(sums.values())) > BLOB_BYTES_MAX:
            raise BodyTooLarge(f"the attachments have {most} bytes: at most {BLOB_BYTES_MAX}")

    async def hold_each(self, drafts: Sequence[tuple[str, int, Sequence[str]]]) -> None:
        """Note the uses of several messages: tenant, id and attachments of each."""
        by_tenant = defaultdict[str, list[BlobUse]](list)
        for tenant, holder, blobs in drafts:
            by_tenant[tenant] += [BlobUse(blob, holder) for blob in blobs]
        for tenant, uses in by_tenant.items():
            await self.hold(tenant, uses)


def blobs_of(store: Store) -> Blobs:
    """The store's contents; NotOnRabbitMQ where it has none."""
    if not isinstance(store, Blobs):
        raise NotOnRabbitMQ(
            "attachments cannot be stored beside a broker: give their `content` in the mail"
        )
    return store
