"""What Amazon SES says about mails: notifications and events, which SNS carries."""

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

    name: str = ""
    value: str = ""


class MailIdentity(Struct, frozen=True, rename="camel"):
    """Headers that most mails have."""

    message_id: str | None = None


class SesMail(Struct, frozen=True, rename="camel"):
    """The mail that is reported about. `source` is its return path."""

    source: str = ""
    headers: list[SesHeader] = []
    common_headers: MailIdentity = MailIdentity()


class SesRecipient(Struct, frozen=True, rename="camel"):
    """One whom the mail was for."""

    email_address: str = ""
    status: str = ""
    diagnostic_code: str = ""


class SesBounce(Struct, frozen=True, rename="camel"):
    """It came back."""

    bounce_type: str = ""
    bounce_sub_type: str = ""
    bounced_recipients: list[SesRecipient] = []
    feedback_id: str = ""


class SesComplaint(Struct, frozen=True, rename="camel"):
    """Somebody called it spam."""

    complained_recipients: list[SesRecipient] = []
    complaint_feedback_type: str | None = None
    feedback_id: str = ""


class SesDelivery(Struct, frozen=True, rename="camel"):
    """The recipient's server took it."""

    recipients: list[str] = []


class SesEvent(Struct, frozen=True, rename="camel"):
    """A notification, or an event of a configuration set, which has another name for its kind."""

    mail: SesMail = SesMail()
    notification_type: str = ""
    event_type: str = ""
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
    ids = [one.value for one in mail.headers[:HEADERS_MAX] if one.name.lower() == "message-id"]
    found = (mail.source, mail.common_headers.message_id or "", *ids[:1])
    return tuple(text[:TEXT_MAX] for text in found)


def _bounces(bounce: SesBounce, marks: tuple[str, ...]) -> list[MailReport]:
    found = []
    for one in bounce.bounced_recipients[:RECIPIENTS_MAX]:
        text = one.diagnostic_code.partition(";")[2].strip() or one.diagnostic_code
        kind = _kind(bounce, one.status)
        said = (one.status, text[:TEXT_MAX] or bounce.bounce_sub_type, bounce.feedback_id)
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
    address: str,
    marks: tuple[str, ...],
    code: str = "",
    text: str = "",
    name: str = "",
) -> MailReport:
    whom = (clean(address, NAME_CHARACTERS_MAX),)
    told = (clean(code, NAME_CHARACTERS_MAX), clean(text), marks, clean(name, NAME_CHARACTERS_MAX))
    return MailReport(kind, whom, *told)
