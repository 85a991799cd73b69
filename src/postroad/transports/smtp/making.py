"""Makes of a stored message what goes over the wire: built or prepared, signed, with its
envelope."""

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from html import escape
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.entities import Message
from postroad.model.errors import BadInput
from postroad.model.ids import campaign_row, key_text
from postroad.model.mail_links import UNSUBSCRIBE_MARK
from postroad.model.recipients import recipient_of
from postroad.transports.smtp.body import (
    AttachmentSpec,
    MailBody,
    check_body,
    needs_link,
    read_body,
)
from postroad.transports.smtp.dialogue import MailEnvelope
from postroad.transports.smtp.dkim import DkimKey, signature
from postroad.transports.smtp.headers import mailbox
from postroad.transports.smtp.mime import MailHead, MailPart, MailText, base64_lines, build, wire
from postroad.transports.smtp.prepared import read_prepared

FetchBlob = Callable[[str, str], Awaitable[bytes]]
"""A stored content in base64, by tenant and id; BadInput when it is gone."""
LARGE_BYTES: Final = 256 << 10
"""Larger mails are made in a thread: one of 25 MB takes 0.2 s (decision 097)."""


class Links(Protocol):
    """What ties a mail to its message when something comes back."""

    def reference(self, ref: str, recipient: str) -> str:
        """A text that nobody else can make, the same over all tries; empty: none can be made."""

    def return_path(self, ref: str, recipient: str) -> str:
        """Where a mail goes that cannot be delivered; empty: to its sender."""

    def unsubscribe_url(self, tenant: str, ref: str, recipient: str) -> str:
        """The link by which a recipient unsubscribes; empty where it cannot be made."""

    def unsubscribe_headers(self, tenant: str, ref: str, recipient: str) -> dict[str, str]:
        """The headers by which a recipient unsubscribes."""


class Outgoing(Struct, frozen=True):
    """A mail as it is sent."""

    envelope: MailEnvelope
    content: bytes


class MailMaker:
    """Makes the mails of one credential."""

    def __init__(
        self,
        tenant: str,
        sender: str,
        keys: Sequence[DkimKey],
        links: Links,
        blob: FetchBlob,
        mark: str = "",
    ) -> None:
        """`mark` is a header for the reference that the provider gives back, if it wants one."""
        self._tenant = tenant
        self._sender = sender
        self._keys = keys
        self._links = links
        self._blob = blob
        self._mark = mark

    async def make(self, message: Message, now_s: int) -> Outgoing:
        """Make the mail of a message; BadInput says why it cannot be sent."""
        if message.body[:1] != b"{" or b'"attachments"' not in message.body:
            return self._made(message, now_s, ())
        said = read_body(message.body)
        check_body(said)
        parts = [await self._part(one) for one in said.attachments]
        if sum(len(one.encoded) for one in parts) < LARGE_BYTES:
            return self._made(message, now_s, parts)
        return await asyncio.to_thread(self._made, message, now_s, parts)

    async def _part(self, one: AttachmentSpec) -> MailPart:
        encoded = (
            await self._blob(self._tenant, one.id)
            if one.id
            else base64_lines(b64decode(one.content))
        )
        return MailPart(one.name, one.type, encoded, one.cid)

    def _made(self, message: Message, now_s: int, parts: Sequence[MailPart]) -> Outgoing:
        recipient, ref = recipient_of(message), key_text(message.id)
        reference = self._links.reference(ref, recipient) or ref  # a road without keys signs none
        if message.body[:1] == b"{":
            said = read_body(message.body)
            check_body(said)
            sender = said.sender or self._sender
            if not sender:
                raise BadInput("nobody is named as sender: give `from`, or set mail.sender")
            said = self._linked(said, ref, recipient)
            headers = self._bulk_headers(message.id, ref, recipient, sender) | _own_headers(said)
            headers |= self._marks(reference)
            if said.unsubscribe and message.id >= 0:
                headers |= self._links.unsubscribe_headers(self._tenant, ref, recipient)
            head = MailHead(sender, said.to or recipient, reference, now_s, headers)
            text = MailText(said.subject, said.text, said.html, tuple(parts))
            header, body = build(head, text)
        else:
            mail = read_prepared(message.body)
            sender, body = mail.sender().address, mail.body
            more = self._bulk_headers(message.id, ref, recipient, sender) | self._marks(reference)
            header = mail.header(reference, now_s, more)
        envelope = MailEnvelope(
            self._links.return_path(ref, recipient) or mailbox(sender).address,
            recipient,
            reference,
            utf8=not (header.isascii() and recipient.isascii()),
            eight_bit=not body.isascii(),
        )
        return Outgoing(envelope, wire(signature(self._keys, header, body, now_s), header, body))

    def _marks(self, reference: str) -> dict[str, str]:
        return {self._mark: reference} if self._mark else {}

    def _linked(self, said: MailBody, ref: str, recipient: str) -> MailBody:
        """Put the recipient's link where its texts name it."""
        if not needs_link(said):
            return said
        url = self._links.unsubscribe_url(self._tenant, ref, recipient)
        if not url:
            raise BadInput(
                "a link to unsubscribe cannot be made: set mail.public_url, and a key for links"
            )
        text, html = said.text, said.html
        return replace(
            said,
            text=text.replace(UNSUBSCRIBE_MARK, url),
            html=html.replace(UNSUBSCRIBE_MARK, escape(url)),
        )

    def _bulk_headers(self, number: int, ref: str, recipient: str, sender: str) -> dict[str, str]:
        """What providers ask of mails to many: how to leave, and whose they are."""
        if number >= 0:  # a single message
            return {}
        campaign, _ = campaign_row(number)
        return {
            **self._links.unsubscribe_headers(self._tenant, ref, recipient),
            "Feedback-ID": f"{campaign}:{_short(self._tenant)}:campaign:{_short(sender)}",
        }


def _own_headers(said: MailBody) -> dict[str, str]:
    return {"Reply-To": said.reply_to, **said.headers} if said.reply_to else said.headers


@lru_cache(256)
def _short(text: str) -> str:
    """A name without colons that tells nothing, for the parts of a Feedback-ID."""
    return blake2b(text.encode(), digest_size=5).hexdigest()
