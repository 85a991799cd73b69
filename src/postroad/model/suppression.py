"""Suppression lists: recipients that are not sent to, and why."""

import re
from enum import StrEnum
from hashlib import sha256
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.model.mail_address import normal_mail
from postroad.model.phone_number import normal_phone

EVERYWHERE: Final = "*"
"""The tenant of the list that holds for all tenants."""
ERASED: Final = "sha256:"
"""Before the digest that stays of a recipient who was erased."""
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
SCHEMES: Final = ("mailto:", "sms:", "whatsapp:", "tel:")


class Reason(StrEnum):
    """Why a recipient is not sent to. In the order of their names the first says the most; SQL
    relies on it."""

    by_hand = "by_hand"
    complaint = "complaint"
    hard_bounce = "hard_bounce"
    soft_bounce = "soft_bounce"
    """Too many soft bounces."""
    unsubscribed = "unsubscribed"


HOLDS_SINGLES: Final = frozenset(Reason) - {Reason.unsubscribed}
"""What also holds back single messages. Who unsubscribed gets a receipt all the same."""


class Suppression(Struct, frozen=True):
    """A recipient that is not sent to, for one reason. `campaign` and `message` say what it came
    from."""

    tenant: str
    recipient: str
    reason: Reason
    at_ms: int
    campaign: str = ""
    message: str = ""
    note: str = ""
    id: int = 0


class SuppressionFilter(Struct, frozen=True):
    """Which entries of a list; an empty text does not narrow."""

    reason: str = ""
    recipient: str = ""


def normal_recipient(text: str) -> str:
    """Return a mail address or a telephone number in its stored form; BadInput if it is neither.
    The scheme of an address may stand before it, and what stays of an erased one is taken as it
    is."""
    bare = text.strip()
    for scheme in SCHEMES:
        bare = bare.removeprefix(scheme)
    if "@" in bare:
        return normal_mail(bare)
    if DIGEST.fullmatch(bare):
        return bare
    try:
        return normal_phone(bare)
    except BadInput:
        raise BadInput(
            f"{text[:60]!r} is neither a mail address nor a telephone number: write "
            "ann@example.com or +6591234567"
        ) from None


def folded(recipient: str) -> str:
    """The text by which lists are searched: letters of ASCII in lower case, the others as they
    are, which both databases do alike."""
    return recipient.lower() if recipient.isascii() else recipient.translate(LOWER)


def list_address(text: str) -> str:
    """The text by which lists are searched for the recipient that somebody names; empty if it can
    be on none, or is what stays of an erased one."""
    try:
        address = folded(normal_recipient(text))
    except BadInput:
        return ""
    return "" if address.startswith(ERASED) else address


LOWER: Final = {code: chr(code).lower() for code in range(0x41, 0x5B)}


def erased_form(tenant: str, recipient: str) -> str:
    """What stays of a recipient who was erased: enough that nobody who has their address writes to
    them again."""
    return ERASED + sha256(f"{tenant} {folded(recipient)}".encode()).hexdigest()


def check_reason(text: str) -> Reason:
    """The reason of this name, or BadInput."""
    if text not in set(Reason):
        raise BadInput(f"reason {text[:40]!r}: there are {', '.join(Reason)}")
    return Reason(text)
