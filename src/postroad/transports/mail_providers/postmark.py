"""Postmark's webhooks. They are not signed: who calls knows a secret, of basic authentication or in
the address. The mail's reference comes back as metadata, which its header gave."""

import hmac
from base64 import b64decode
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct, field

from postroad.model.foreign import NAME_CHARACTERS_MAX, clean
from postroad.model.mail_report import MailReport, ReportKind, said_code

METADATA: Final = "postroad"
MARK_HEADER: Final = f"X-PM-Metadata-{METADATA}"
KINDS: Final = {
    "HardBounce": ReportKind.hard_bounce,
    "BadEmailAddress": ReportKind.hard_bounce,
    "SoftBounce": ReportKind.soft_bounce,
    "DnsError": ReportKind.soft_bounce,
    "SpamNotification": ReportKind.policy,
    "Blocked": ReportKind.policy,
    "DMARCPolicy": ReportKind.policy,
    "VirusNotification": ReportKind.policy,
    "SpamComplaint": ReportKind.complaint,
}
"""What a type of bounce means. Others, as `Transient` and `AutoResponder`, say nothing yet."""
TEXT_MAX: Final = 1_000
BASIC_MAX: Final = 1_024


class PostmarkCall(Struct, frozen=True, rename="pascal"):
    """A bounce, a complaint or a delivery."""

    record_type: str
    id: int | str = field(name="ID", default="")
    type: str | None = None
    email: str | None = None
    recipient: str | None = None
    details: str | None = None
    description: str | None = None
    metadata: dict[str, object] | None = None
    """Strings, and whatever else somebody gave with other mails of the account."""


CALL: Final = msgspec.json.Decoder(PostmarkCall)


def knows_secret(given: str, headers: Mapping[str, str], secret: str) -> bool:
    """Whether a caller has the secret: as `USER:PASSWORD`, or given in the address."""
    word, _, basic = headers.get("authorization", "")[:BASIC_MAX].partition(" ")
    if word.lower() == "basic":
        try:
            told = b64decode(basic.strip(), validate=True)
        except ValueError:
            return False
        return hmac.compare_digest(told, secret.encode())
    return hmac.compare_digest(given.encode(), secret.encode())


def postmark_reports(body: bytes) -> list[MailReport]:
    """What a call means."""
    call = CALL.decode(body)
    kind = KINDS.get(call.type or "")
    if call.record_type == "SpamComplaint":
        kind = ReportKind.complaint
    elif call.record_type == "Delivery":
        kind = ReportKind.delivered
    elif call.record_type != "Bounce":
        kind = None
    if kind is None:
        return []
    text = call.details or call.description or call.type or ""
    mark, whom = (call.metadata or {}).get(METADATA), call.email or call.recipient or ""
    return [
        MailReport(
            kind,
            (clean(whom, NAME_CHARACTERS_MAX),),
            said_code(text[:TEXT_MAX]) if kind is not ReportKind.delivered else "",
            clean(text[:TEXT_MAX]),
            (mark[:TEXT_MAX] if isinstance(mark, str) else "",),
            clean(str(call.id), NAME_CHARACTERS_MAX),
        )
    ]
