"""The outcome of an HTTP answer, or of a fault. Tests hold it to real faults."""

import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Final

from postroad.model.entities import DAY_MS
from postroad.model.outcome import DELIVERED, Outcome, failed, quota, rejected, unknown, unreachable
from postroad.model.phrases import PHRASES

AFTER_MAX_MS: Final = 7 * DAY_MS
SECONDS: Final = re.compile(r"([0-9]+)(?:\.[0-9]*)?")
SECONDS_DIGITS_MAX: Final = 12
DATE_CHARACTERS_MAX: Final = 64
AWAY: Final = (502, 503, 504)
WORDS: Final = {
    "refused": "connection refused",
    "connect_timeout": "no connection in time",
    "timeout": "no answer in time",
    "reset": "connection reset",
    "closed": "connection closed without an answer",
    "answer_too_large": "the head of the answer is too large",
}
"""Faults that need no more words than these; other errors show what the server said."""


def judge(status: int, headers: Mapping[str, str], reject: Sequence[int], now_ms: int) -> Outcome:
    """Return the outcome of a status."""
    if 200 <= status < 300:
        return DELIVERED
    said = f"{status} {PHRASES.get(status, '')}".rstrip()
    if status == 410:
        return rejected(said, status=status, disables=True)
    if status in reject:
        return rejected(f"{said}, which its settings reject", status=status)
    if status == 429:
        return quota(said, after_ms=retry_after_ms(headers, now_ms), status=status)
    if status in AWAY:
        return unreachable(said, status=status)
    return failed(said, status=status)


def retry_after_ms(headers: Mapping[str, str], now_ms: int) -> int:
    """Return how long `Retry-After` asks to wait: in seconds, or until a date, which counts from
    the server's own clock if it sends one."""
    text = headers.get("retry-after", "").strip()
    told_ms = waits_ms(text)
    if told_ms is not None:
        return min(told_ms, AFTER_MAX_MS)
    until_ms = _date_ms(text)
    if until_ms is None:
        return 0
    there_ms = _date_ms(headers.get("date", ""))
    return max(0, min(until_ms - (now_ms if there_ms is None else there_ms), AFTER_MAX_MS))


def waits_ms(text: str) -> int | None:
    """Read `Retry-After` in seconds; None when it is no number."""
    found = SECONDS.fullmatch(text)
    if found is None:
        return None
    digits = found[1].lstrip("0")  # Python reads 4,300 of them at most
    return AFTER_MAX_MS if len(digits) > SECONDS_DIGITS_MAX else int(float(text) * 1000)


def _date_ms(text: str) -> int | None:
    if len(text) > DATE_CHARACTERS_MAX:
        return None
    try:
        return int(parsedate_to_datetime(text).timestamp() * 1000)
    except (ValueError, OverflowError, TypeError):
        return None


def outcome_of(fault: str, said: str, *, sent: bool) -> Outcome:
    """Return the outcome of a fault: certainly not sent, or unknown."""
    words = WORDS.get(fault) or f"{fault}: {said}"
    return unknown(words) if sent else unreachable(words)
