"""Mailgun's webhooks. Their signature is over a time and a token alone, so that a token may come
with one body only."""

import hashlib
import hmac
import re
from typing import Final

import msgspec
from msgspec import Struct, field

from postroad.model.foreign import NAME_CHARACTERS_MAX, clean
from postroad.model.mail_report import MailReport, ReportKind, bounce_kind

AGE_MAX_S: Final = 12 * 3_600
"""Mailgun repeats for eight hours what was not answered."""
ENHANCED: Final = re.compile(r"(?<![0-9.])[245]\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9.])")
TEXT_MAX: Final = 1_000
POLICY: Final = frozenset(("espblock", "suppress-unsubscribe", "customer-block"))
GONE: Final = frozenset(("bounce", "delayed-bounce", "suppress-bounce"))
COMPLAINED: Final = "suppress-complaint"


class MailgunSignature(Struct, frozen=True):
    """Who says so."""

    timestamp: str
    token: str
    signature: str


class DeliveryStatus(Struct, frozen=True):
    """What the recipient's server answered."""

    code: int | str | None = None
    enhanced: str | None = field(name="enhanced-code", default=None)
    message: str | None = None
    description: str | None = None


class MessageHeaders(Struct, frozen=True):
    """Some headers of the mail."""

    id: str = field(name="message-id", default="")


class MailgunMessage(Struct, frozen=True):
    """The mail that an event is about."""

    headers: MessageHeaders = MessageHeaders()


class MailgunEvent(Struct, frozen=True):
    """One event."""

    event: str
    id: str = ""
    recipient: str = ""
    severity: str | None = None
    reason: str | None = None
    status: DeliveryStatus = field(name="delivery-status", default=DeliveryStatus())
    message: MailgunMessage = MailgunMessage()


class MailgunCall(Struct, frozen=True):
    """A whole webhook call."""

    signature: MailgunSignature
    event: MailgunEvent = field(name="event-data")


CALL: Final = msgspec.json.Decoder(MailgunCall)


def read_mailgun(body: bytes, key: str, now_s: float) -> MailgunCall | None:
    """Read a call; None if it is not signed with the key, or too old. The caller sees to it that a
    token comes with one body only."""
    call = CALL.decode(body)
    told = call.signature
    if len(told.timestamp) > 12 or not told.timestamp.isdecimal() or not told.timestamp.isascii():
        return None
    signed = hmac.new(key.encode(), (told.timestamp + told.token).encode(), hashlib.sha256)
    if not hmac.compare_digest(signed.hexdigest().encode(), told.signature.encode()):
        return None
    return call if abs(now_s - int(told.timestamp)) <= AGE_MAX_S else None


def mailgun_reports(event: MailgunEvent) -> list[MailReport]:
    """What an event means. A failure that Mailgun will try again says nothing yet."""
    status = event.status
    text = f"{status.message or ''} {status.description or ''}".strip()[:TEXT_MAX]
    found = ENHANCED.search(text)
    code = status.enhanced or (found[0] if found else "")
    if event.event == "complained":
        kind, code = ReportKind.complaint, ""
    elif event.event == "delivered":
        kind = ReportKind.delivered
    elif event.event == "failed" and event.severity == "permanent":
        kind = _failed(event.reason or "", code)
    else:
        return []
    return [
        MailReport(
            kind,
            (clean(event.recipient, NAME_CHARACTERS_MAX),),
            clean(code, NAME_CHARACTERS_MAX),
            clean(text),
            (event.message.headers.id[:TEXT_MAX],),
            clean(event.id, NAME_CHARACTERS_MAX),
        )
    ]


def _failed(reason: str, code: str) -> ReportKind:
    if reason == COMPLAINED:
        return ReportKind.complaint
    if reason in POLICY:
        return ReportKind.policy
    if code and reason != "suppress-bounce":
        return bounce_kind(code)
    return ReportKind.hard_bounce if reason in GONE else ReportKind.soft_bounce
