"""What mail servers and mailbox providers report about a mail: bounces (RFC 3464) and complaints
(RFC 5965). Foreign bytes: bounded, and read in linear time."""

import binascii
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.model.foreign import NAME_CHARACTERS_MAX, clean

BYTES_MAX: Final = 1 << 18
"""More of a report is not read: what it says comes first, and the mail itself behind it."""
PARTS_MAX: Final = 20
LINES_MAX: Final = 2_000
GROUPS_MAX: Final = 100
VALUE_MAX: Final = 1_000
GONE: Final = frozenset(("5.1.0", "5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"))
"""The address, its domain or its mailbox is not there. Others of 5.1 are about the sender."""
POLICY: Final = "5.7."
CODE: Final = re.compile(r"[245]\.[0-9]{1,3}\.[0-9]{1,3}")
THRESHOLD: Final = re.compile(r"([0-9]{1,4})/([0-9]{1,3})d/([0-9]{1,4})")
SAID: Final = re.compile(r"(?<![0-9.])5\.[0-9]{1,3}\.[0-9]{1,3}(?!\.?[0-9])")
"""A code in what a server said."""
ASCII_KINDS: Final = {
    "message/global-delivery-status": "message/delivery-status",
    "message/global-headers": "text/rfc822-headers",
    "message/global": "message/rfc822",
}
"""Parts with addresses beyond ASCII (RFC 6533) say the same."""
READ_KINDS: Final = frozenset(
    (
        "message/delivery-status",
        "message/feedback-report",
        "message/rfc822",
        "text/rfc822-headers",
        "message/rfc822-headers",
    )
)
BOUNDARY: Final = "boundary="
COMPLAINTS: Final = frozenset(("abuse", "fraud", "virus"))
Fields = dict[str, str]


class ReportKind(StrEnum):
    """What a report means for its recipient."""

    hard_bounce = "hard_bounce"
    soft_bounce = "soft_bounce"
    """Given up for now: a full mailbox, a server that was away."""
    policy = "policy"
    """Refused for what was sent, or by whom (5.7.x): never the recipient's fault."""
    complaint = "complaint"
    delivered = "delivered"


class MailReport(Struct, frozen=True):
    """What is reported about one recipient. `recipients` are the names that it has in the report;
    `marks` are texts that may hold the reference of the mail."""

    kind: ReportKind
    recipients: tuple[str, ...]
    code: str = ""
    text: str = ""
    marks: tuple[str, ...] = ()
    id: str = ""
    """What a provider calls this report."""


class NotedReport(Struct, frozen=True):
    """What was reported about a message, and when it came."""

    kind: ReportKind
    at_ms: int
    code: str = ""
    """The enhanced status code of a bounce."""
    note: str = ""


class SoftBounces(Struct, frozen=True):
    """When soft bounces suppress their recipient: so many within so many days, over so many
    different mails."""

    count: int
    days: int
    mails: int


def read_soft_bounces(text: str) -> SoftBounces | None:
    """Read a threshold as `5/7d/3`; None if it is empty, which is never. BadInput says what is
    wrong."""
    if not text:
        return None
    found = THRESHOLD.fullmatch(text)
    numbers = [int(one) for one in found.groups()] if found else [0]
    if not all(numbers):
        raise BadInput(f"{text[:40]!r}: give COUNT/DAYSd/MAILS, as 5/7d/3; empty is never")
    return SoftBounces(*numbers)


def read_reports(raw: bytes) -> list[MailReport]:
    """Read a mail that somebody sent to a return path; empty if it is no report."""
    head, content = _parted(raw[:BYTES_MAX].replace(b"\r\n", b"\n"))
    parts = {kind: (fields, body) for kind, fields, body in _parts(head, content)}
    marks = tuple(head.get(name, "") for name in ("to", "delivered-to", "x-original-to"))
    original = _original(parts)
    marks += (original.get("message-id", ""), original.get("return-path", ""))
    if "message/feedback-report" in parts:
        return _complaint(_fields(parts["message/feedback-report"][1]), original, marks)
    if "message/delivery-status" not in parts:
        return []
    _, *groups = parts["message/delivery-status"][1].strip(b"\n").split(b"\n\n", GROUPS_MAX)
    found = (_bounce(_fields(group), original, marks) for group in groups[:GROUPS_MAX])
    return [one for one in found if one is not None]


def _parts(head: Fields, content: bytes) -> Iterator[tuple[str, Fields, bytes]]:
    """The parts of a multipart mail, the outermost alone: nothing nested is opened."""
    kind, _, options = head.get("content-type", "").partition(";")
    place = options.lower().find(BOUNDARY)  # its name may be written in any case
    if not kind.strip().lower().startswith("multipart/") or place < 0:
        return
    rest = options[place + len(BOUNDARY) :]
    quoted = rest.startswith('"')
    boundary = rest[1:].partition('"')[0] if quoted else rest.partition(";")[0].strip()
    if not boundary:
        return
    line = b"\n--" + boundary.encode(errors="replace")
    for piece in (b"\n" + content).split(line, PARTS_MAX)[1:]:
        fields, body = _parted(piece.partition(b"\n")[2])
        kind = fields.get("content-type", "").partition(";")[0].strip().lower()
        kind = ASCII_KINDS.get(kind, kind)
        yield kind, fields, _decoded(fields, body) if kind in READ_KINDS else body


def _decoded(fields: Fields, body: bytes) -> bytes:
    """What a part says; as it stands when its encoding is broken."""
    encoding = fields.get("content-transfer-encoding", "").lower()
    try:
        if encoding == "base64":
            body = binascii.a2b_base64(body)
        elif encoding == "quoted-printable":
            body = binascii.a2b_qp(body)
    except binascii.Error:
        return body
    return body.replace(b"\r\n", b"\n")


def _original(parts: dict[str, tuple[Fields, bytes]]) -> Fields:
    """The headers of the mail that a report is about."""
    for kind in ("message/rfc822", "text/rfc822-headers", "message/rfc822-headers"):
        if kind in parts:
            return _parted(parts[kind][1])[0]
    return {}


def _bounce(fields: Fields, original: Fields, marks: tuple[str, ...]) -> MailReport | None:
    action = fields.get("action", "").lower().partition("(")[0].strip()
    text = fields.get("diagnostic-code", "").partition(";")[2].strip()
    code = _code(fields.get("status", ""), text)
    if action in ("delivered", "relayed"):
        kind = ReportKind.delivered
    elif action == "failed":
        kind = bounce_kind(code)
    else:
        return None
    names = (_address(fields.get(name, "")) for name in ("original-recipient", "final-recipient"))
    recipients = tuple(dict.fromkeys(filter(None, (*names, _address(original.get("to", ""))))))
    return MailReport(kind, recipients, clean(code, NAME_CHARACTERS_MAX), clean(text), marks)


def _code(status: str, text: str) -> str:
    """The code of a status; where that says only that it failed, the one that the server gave."""
    found = CODE.match(status)
    code = found[0] if found else ""
    return (said_code(text) or code) if code in ("", "5.0.0") else code


def said_code(text: str) -> str:
    """The first code of a final failure in what a server said; empty if there is none."""
    found = SAID.search(text)
    return found[0] if found else ""


def bounce_kind(code: str) -> ReportKind:
    """What a failure with this enhanced status code means."""
    if code in GONE:
        return ReportKind.hard_bounce
    return ReportKind.policy if code.startswith(POLICY) else ReportKind.soft_bounce


def _complaint(fields: Fields, original: Fields, marks: tuple[str, ...]) -> list[MailReport]:
    if fields.get("feedback-type", "").lower() not in COMPLAINTS:
        return []
    names = (_address(fields.get("original-rcpt-to", "")), _address(original.get("to", "")))
    recipients = tuple(dict.fromkeys(filter(None, names)))
    text = clean(fields.get("user-agent", ""), NAME_CHARACTERS_MAX)
    return [MailReport(ReportKind.complaint, recipients, "", text, marks)]


def _parted(raw: bytes) -> tuple[Fields, bytes]:
    """The headers and what is behind them."""
    if raw.startswith(b"\n"):
        return {}, raw[1:]
    head, _, content = raw.partition(b"\n\n")
    return _fields(head), content


def _fields(head: bytes) -> Fields:
    """Headers by their names in lower case, the first of each; folded lines joined."""
    found: Fields = {}
    name = ""
    for line in head.split(b"\n", LINES_MAX)[:LINES_MAX]:
        text = line[:VALUE_MAX].decode("utf-8", "replace")
        if text[:1] in (" ", "\t"):
            if name and len(found[name]) < VALUE_MAX:
                found[name] += " " + text.strip()
            continue
        name, mark, value = text.partition(":")
        name = name.strip().lower() if mark else ""
        if name in found:
            name = ""
        elif name:
            found[name] = value.strip()
    return found


def _address(text: str) -> str:
    """The bare address of `rfc822; ann@example.com`, `<ann@example.com>` or `Ann <…>`."""
    bare = text.rpartition(";")[2].rpartition("<")[2].partition(">")[0].strip()
    return clean(bare, NAME_CHARACTERS_MAX) if "@" in bare else ""
