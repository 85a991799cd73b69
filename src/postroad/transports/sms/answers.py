"""What a provider's answers mean. Only what says that nothing was taken may be sent again."""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from postroad.model.campaign import RowState
from postroad.model.outcome import Kind
from postroad.ports.channel import ChannelAnswer
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


def judge(status: int, headers: Mapping[str, str], body: bytes) -> ChannelAnswer:
    """What a status and its body mean."""
    if 200 <= status < 300:
        return _taken(body)
    refused = read_json(REFUSED, body) or SmsRefused()
    code = str(refused.code or status)[:CODE_MAX]
    sub_type = SUB_TYPES.get(code, "")
    error = refused.message
    if status == 429 or code in THROTTLED:
        return ChannelAnswer(
            RowState.unsent, Kind.quota, "", code, "throttled", error, retry_after_ms(headers)
        )
    if status in (401, 403) or code in CREDENTIAL:
        return ChannelAnswer(RowState.unsent, Kind.rejected, "", code, "credential", error)
    if 400 <= status < 500:
        return ChannelAnswer(RowState.failed, Kind.failed, "", code, sub_type or "refused", error)
    # A 5xx (and a redirect, which nobody follows) may hide a message that was taken.
    return ChannelAnswer(RowState.uncertain, Kind.unknown, "", code, "no_clear_answer", error)


def _taken(body: bytes) -> ChannelAnswer:
    said = read_json(TAKEN, body)  # it was taken, whatever became of the answer
    return ChannelAnswer(RowState.sent, Kind.delivered, said.sid[:SID_MAX] if said else "")


def read_json(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T | None:
    """What a provider says; None when it says something else, or in no way that can be read."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def retry_after_ms(headers: Mapping[str, str]) -> int:
    """How long a throttling answer asks to wait."""
    return min(waits_ms(headers.get("retry-after", "").strip()) or 0, AFTER_MAX_MS)


def no_answer(said: str, *, sent: bool) -> ChannelAnswer:
    """No answer came: certainly not sent when the connection was never made."""
    if not sent:
        return ChannelAnswer(RowState.unsent, Kind.unreachable, sub_type="unreachable", error=said)
    return ChannelAnswer(RowState.uncertain, Kind.unknown, sub_type="no_answer", error=said)
