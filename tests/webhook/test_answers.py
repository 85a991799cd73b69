"""What a status means, and how long Retry-After asks to wait."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.model.outcome import Kind
from postroad.transports.webhook.answers import AFTER_MAX_MS, judge, outcome_of, retry_after_ms

NOW_MS = 1_767_225_600_000  # Thu, 01 Jan 2026 00:00:00 GMT


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, Kind.delivered), (201, Kind.delivered), (204, Kind.delivered), (299, Kind.delivered),
        (300, Kind.failed), (301, Kind.failed), (302, Kind.failed), (307, Kind.failed),
        (304, Kind.failed), (400, Kind.failed), (401, Kind.failed), (403, Kind.failed),
        (404, Kind.failed), (408, Kind.failed), (409, Kind.failed), (410, Kind.rejected),
        (413, Kind.failed), (418, Kind.rejected), (422, Kind.rejected), (425, Kind.failed),
        (429, Kind.quota), (500, Kind.failed), (501, Kind.failed), (502, Kind.unreachable),
        (503, Kind.unreachable), (504, Kind.unreachable), (505, Kind.failed), (599, Kind.failed),
        (999, Kind.failed),
    ],
)  # fmt: skip
def test_the_table_of_statuses(status: int, kind: Kind) -> None:
    outcome = judge(status, {}, (418, 422), NOW_MS)
    assert outcome.kind == kind
    assert outcome.disables == (status == 410)
    assert outcome.answered == (kind is not Kind.unreachable)


@pytest.mark.parametrize(
    ("header", "wait_ms"),
    [
        ("0", 0), ("7", 7_000), (" 120 ", 120_000), ("1.5", 1_500), ("", 0), ("soon", 0), ("-5", 0),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60_000),
        ("Thursday, 01-Jan-26 00:01:00 GMT", 60_000),
        ("Thu Jan  1 00:01:00 2026", 60_000),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0),
        ("Thu, 01 Jan 2099 00:00:00 GMT", AFTER_MAX_MS),
        ("999999999999", AFTER_MAX_MS), ("9" * 400, AFTER_MAX_MS), ("0" * 400 + "7", 7_000),
        ("9" * 9_000, AFTER_MAX_MS), ("Thu, 99 Foo 2026", 0),
    ],
)  # fmt: skip
def test_retry_after_in_seconds_and_as_a_date(header: str, wait_ms: int) -> None:
    assert retry_after_ms({"retry-after": header}, NOW_MS) == wait_ms
    outcome = judge(429, {"retry-after": header}, (), NOW_MS)
    assert outcome.after_ms == wait_ms


def test_a_date_is_read_by_the_servers_own_clock() -> None:
    """It may be wrong by an hour; the wait is still a minute."""
    headers = {
        "date": "Thu, 01 Jan 2026 01:00:00 GMT",
        "retry-after": "Thu, 01 Jan 2026 01:01:00 GMT",
    }
    assert retry_after_ms(headers, NOW_MS) == 60_000


@given(st.text(), st.text())
def test_no_header_breaks_it(after: str, date: str) -> None:
    assert 0 <= retry_after_ms({"retry-after": after, "date": date}, NOW_MS) <= AFTER_MAX_MS


def test_only_a_failed_connect_is_certainly_not_sent() -> None:
    assert outcome_of("reset", "", sent=False).kind is Kind.unreachable
    assert outcome_of("reset", "", sent=True).kind is Kind.unknown
    assert outcome_of("tls", "no certificate", sent=False).error == "tls: no certificate"
