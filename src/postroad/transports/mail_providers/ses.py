"""What Amazon SES says about mails: notifications and events, which SNS carries. Fields that have
nothing to say are left out or null, and others are added (decision 128)."""

from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.foreign import NAME_CHARACTERS_MAX, clean
from postroad.model.mail_report import COMPLAINTS, MailReport, ReportKind

POLICY: Final = "5.7."
REFUSED: Final = frozenset(("ContentRejected", "AttachmentRejected"))
TEXT_MAX: Final = 1_000
RECIPIENTS_MAX: Final = 50
HEADERS_MAX: Final = 200


class SesHeader(Struct, frozen=True):
    """A header of the mail as it was sent."""

    name: str | None = None
    value: str | None = None


class MailIdentity(Struct, frozen=True, rename="camel"):
    """Headers that most mails have."""

    message_id: str | None = None


class SesMail(Struct, frozen=True, rename="camel"):
    """The mail that is reported about. `source` is its return path."""

    source: str | None = None
    headers: list[SesHeader] | None = None
    common_headers: MailIdentity | None = None


class SesRecipient(Struct, frozen=True, rename="camel"):
    """One whom the mail was for."""

    email_address: str | None = None
    status: str | None = None
    diagnostic_code: str | None = None


class SesBounce(Struct, frozen=True, rename="camel"):
    """What SES reports of a mail that bounced."""

    bounce_type: str | None = None
    bounce_sub_type: str | None = None
    bounced_recipients: list[SesRecipient] = []
    feedback_id: str | None = None


class SesComplaint(Struct, frozen=True, rename="camel"):
    """Somebody called it spam."""

    complained_recipients: list[SesRecipient] = []
    complaint_feedback_type: str | None = None
    feedback_id: str | None = None


class SesDelivery(Struct, frozen=True, rename="camel"):
    """The recipient's server took it."""

    recipients: list[str] = []


class SesEvent(Struct, frozen=True, rename="camel"):
    """A notification, or an event of a configuration set, which has another name for its kind."""

    mail: SesMail = SesMail()
    notification_type: str | None = None
    event_type: str | None = None
    bounce: SesBounce = SesBounce()
    complaint: SesComplaint = SesComplaint()
    delivery: SesDelivery = SesDelivery()


EVENT: Final = msgspec.json.Decoder(SesEvent)


def ses_reports(message: str) -> list[MailReport]:
    """What a notification means; empty if it says nothing about a delivery."""
    event = EVENT.decode(message)
    marks = _marks(event.mail)
    match event.notification_type or event.event_type:
        case "Bounce":
            return _bounces(event.bounce, marks)
        case "Complaint":
            return _complaints(event.complaint, marks)
        case "Delivery":
            found = event.delivery.recipients[:RECIPIENTS_MAX]
            return [_report(ReportKind.delivered, one, marks) for one in found]
        case _:
            return []


def _marks(mail: SesMail) -> tuple[str, ...]:
    headers = (mail.headers or [])[:HEADERS_MAX]
    ids = [one.value for one in headers if (one.name or "").lower() == "message-id"]
    common = mail.common_headers.message_id if mail.common_headers else None
    return tuple((text or "")[:TEXT_MAX] for text in (mail.source, common, *ids[:1]))


def _bounces(bounce: SesBounce, marks: tuple[str, ...]) -> list[MailReport]:
    found = []
    for one in bounce.bounced_recipients[:RECIPIENTS_MAX]:
        whole, code = one.diagnostic_code or "", one.status or ""
        text = (whole.partition(";")[2].strip() or whole)[:TEXT_MAX]
        kind = _kind(bounce, code)
        said = (code, text or bounce.bounce_sub_type or "", bounce.feedback_id)
        found.append(_report(kind, one.email_address, marks, *said))
    return found


def _kind(bounce: SesBounce, status: str) -> ReportKind:
    if status.startswith(POLICY) or bounce.bounce_sub_type in REFUSED:
        return ReportKind.policy
    permanent = bounce.bounce_type == "Permanent"
    return ReportKind.hard_bounce if permanent else ReportKind.soft_bounce


def _complaints(complaint: SesComplaint, marks: tuple[str, ...]) -> list[MailReport]:
    kind = complaint.complaint_feedback_type
    if kind is not None and kind not in COMPLAINTS:
        return []
    people = complaint.complained_recipients[:RECIPIENTS_MAX]
    said = ("", kind or "", complaint.feedback_id)
    return [_report(ReportKind.complaint, one.email_address, marks, *said) for one in people]


def _report(
    kind: ReportKind,
    address: str | None,
    marks: tuple[str, ...],
    code: str = "",
    text: str = "",
    name: str | None = "",
) -> MailReport:
    whom, name = (clean(address or "", NAME_CHARACTERS_MAX),), name or ""
    told = (clean(code, NAME_CHARACTERS_MAX), clean(text), marks, clean(name, NAME_CHARACTERS_MAX))
    return MailReport(kind, whom, *told)
