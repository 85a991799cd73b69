"""What a provider's answers mean. Only what says that nothing was taken may be sent again."""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.model.outcome import (
    Kind,
    Outcome,
    ProviderAnswer,
    failed,
    quota,
    refused,
    rejected,
    unknown,
    unreachable,
)
from postroad.transports.webhook.answers import waits_ms

SUB_TYPES: Final = {
    "20003": "credential",
    "20005": "credential",
    "20429": "throttled",
    "21211": "bad_number",
    "21214": "bad_number",
    "21217": "bad_number",
    "21408": "region_not_enabled",
    "21606": "bad_sender",
    "21610": "unsubscribed",
    "21611": "throttled",
    "21612": "unroutable",
    "21614": "not_mobile",
    "21617": "too_long",
    "30001": "throttled",
    "30003": "unreachable_handset",
    "30004": "blocked",
    "30005": "unknown_handset",
    "30006": "landline",
    "30007": "filtered",
}
FOR_EVER: Final = frozenset(
    ("bad_number", "unsubscribed", "not_mobile", "too_long", "landline", "unknown_handset")
)
"""What another try cannot change."""
THROTTLED: Final = frozenset(code for code, kind in SUB_TYPES.items() if kind == "throttled")
SID_MAX: Final = 200
CODE_MAX: Final = 20
AFTER_MAX_MS: Final = 86_400_000
T = TypeVar("T")
CREDENTIAL: Final = frozenset(("20003", "20005"))


class SmsAccepted(Struct, frozen=True):
    """What a provider says about a message that it has."""

    sid: str = ""
    body: str = ""
    to: str = ""


class SmsRefused(Struct, frozen=True):
    """What a provider says about a message that it does not take."""

    code: int | None = None
    message: str = ""


TAKEN: Final = msgspec.json.Decoder(SmsAccepted)
REFUSED: Final = msgspec.json.Decoder(SmsRefused)


def judge(status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
    """What a status and its body mean."""
    if 200 <= status < 300:
        return _taken(status, body)
    said = read_json(REFUSED, body) or SmsRefused()
    code = str(said.code or status)[:CODE_MAX]
    sub_type, error = SUB_TYPES.get(code, ""), said.message or f"the provider answered {status}"
    if status == 429 or code in THROTTLED:
        outcome, sub_type = quota(error, after_ms=retry_after_ms(headers)), "throttled"
    elif status in (401, 403) or code in CREDENTIAL:
        return refused(error, ProviderAnswer("", code, "credential"), status=status)
    elif 400 <= status < 500:
        outcome = rejected(error) if sub_type in FOR_EVER else failed(error)
        sub_type = sub_type or "refused"
    else:  # a 5xx (and a redirect, which nobody follows) may hide a message that was taken
        outcome, sub_type = unknown(error), "no_clear_answer"
    return replace(outcome, status=status, provider=ProviderAnswer("", code, sub_type))


def _taken(status: int, body: bytes) -> Outcome:
    said = read_json(TAKEN, body)  # it was taken, whatever became of the answer
    sid = said.sid[:SID_MAX] if said else ""
    return Outcome(Kind.delivered, status=status, provider=ProviderAnswer(sid))


def read_json(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T | None:
    """What a provider says; None when it says something else, or in no way that can be read."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def retry_after_ms(headers: Mapping[str, str]) -> int:
    """How long a throttling answer asks to wait."""
    return min(waits_ms(headers.get("retry-after", "").strip()) or 0, AFTER_MAX_MS)


def no_answer(said: str, *, sent: bool) -> Outcome:
    """No answer came: certainly not sent when the connection was never made."""
    if not sent:
        return replace(unreachable(said), provider=ProviderAnswer(sub_type="unreachable"))
    return replace(unknown(said), provider=ProviderAnswer(sub_type="no_answer"))
