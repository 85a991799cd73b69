"""Suppression lists on every store."""

import pytest
from msgspec.structs import replace

from postroad.model.mail_report import NotedReport, ReportKind
from postroad.model.suppression import Reason, Suppression, SuppressionFilter, erased_form
from postroad.stores import suppressions
from tests.contract.bench import Bench

ALL = SuppressionFilter()
R = Reason


def entry(
    bench: Bench, recipient: str, reason: Reason = R.hard_bounce, tenant: str = "a"
) -> Suppression:
    """An entry that says where it came from."""
    return Suppression(tenant, recipient, reason, bench.now_ms, "spring", "cmp_1_2", "550 ü\n")


async def test_an_entry_is_read_as_it_was_added_and_is_added_once(bench: Bench) -> None:
    first = entry(bench, "Ann@example.com")
    assert await bench.store.suppress([first]) == 1
    assert await bench.store.suppress([first, entry(bench, "ann@example.com")]) == 0
    (found,) = await bench.store.suppression_page("a", ALL, 0, 10)
    assert found == replace(first, id=found.id)


async def test_recipients_match_in_any_case_on_their_own_list_and_on_that_of_all(
    bench: Bench,
) -> None:
    store = bench.store
    added = [
        entry(bench, "Ann@example.com"),
        entry(bench, "Ann@example.com", R.complaint),
        entry(bench, "+6591234567", R.unsubscribed),
        entry(bench, "all@example.com", R.by_hand, "*"),
        entry(bench, "bob@example.com", R.hard_bounce, "b"),
        entry(bench, "ÄRNE@example.com", R.hard_bounce),
    ]
    assert await store.suppress(added) == 6
    asked = ["aNN@example.com", "+6591234567", "ALL@example.com", "bob@example.com", "ann@exampl"]
    assert await store.suppressed("a", [*asked, "Ärne@example.com"]) == {
        "aNN@example.com": R.complaint,
        "+6591234567": R.unsubscribed,
        "ALL@example.com": R.by_hand,
        "Ärne@example.com": R.hard_bounce,
    }
    # Beyond ASCII no store may fold by its own table: they would differ.
    assert await store.suppressed("a", ["ärne@example.com"]) == {}
    assert await store.suppressed("b", asked) == {
        "ALL@example.com": R.by_hand,
        "bob@example.com": R.hard_bounce,
    }
    assert await store.suppressed("a", []) == {}


async def test_an_erased_recipient_is_still_found_and_can_be_taken_off(bench: Bench) -> None:
    store = bench.store
    kept = erased_form("a", "Ann@Example.com")
    assert await store.suppress([entry(bench, kept), entry(bench, kept, tenant="b")]) == 2
    assert await store.suppressed("a", ["ann@example.com"]) == {"ann@example.com": R.hard_bounce}
    assert await store.suppressed("b", ["ann@example.com"]) == {}, "the digest is tenant a's"
    which = SuppressionFilter(recipient="ANN@example.com")
    (found,) = await store.suppression_page("a", which, 0, 10)
    assert found.recipient == kept
    assert await store.unsuppress("a", "ann@example.com", "") == 1
    assert await store.suppressed("a", ["ann@example.com"]) == {}


async def test_lists_are_read_in_pages_by_reason_and_by_recipient(bench: Bench) -> None:
    store = bench.store
    reasons = [R.hard_bounce, R.unsubscribed]
    added = [entry(bench, f"u{number}@example.com", reasons[number % 2]) for number in range(5)]
    await store.suppress([*added, entry(bench, "u1@example.com", tenant="b")])

    async def names(which: SuppressionFilter, after: int = 0, limit: int = 10) -> list[str]:
        page = await store.suppression_page("a", which, after, limit)
        return [one.recipient.partition("@")[0] for one in page]

    assert sorted(await names(ALL)) == ["u0", "u1", "u2", "u3", "u4"]
    page = await store.suppression_page("a", ALL, 0, 2)
    rest = await names(ALL, page[-1].id)
    assert len(rest) == 3
    assert not {one.recipient.partition("@")[0] for one in page} & set(rest)
    assert sorted(await names(SuppressionFilter("unsubscribed"))) == ["u1", "u3"]
    assert await names(SuppressionFilter(recipient="U1@example.com")) == ["u1"]
    assert await names(SuppressionFilter("complaint", "U1@example.com")) == []


async def test_one_reason_is_taken_away_and_the_others_stay(bench: Bench) -> None:
    store = bench.store
    for reason in Reason:
        assert await store.suppress([entry(bench, "ann@example.com", reason)]) == 1
    assert await store.unsuppress("b", "ann@example.com", "") == 0
    assert await store.unsuppress("a", "Ann@example.com", "hard_bounce") == 1
    assert await store.unsuppress("a", "ann@example.com", "hard_bounce") == 0
    assert await store.unsuppress("a", "ann@example.com", "by_hand") == 1
    assert await store.suppressed("a", ["ann@example.com"]) == {"ann@example.com": R.complaint}
    assert await store.unsuppress("a", "ann@example.com", "") == 3


async def test_a_report_is_noted_once_and_soft_bounces_count_since_the_last_delivery(
    bench: Bench,
) -> None:
    store, now_ms, soft = bench.store, bench.now_ms, ReportKind.soft_bounce
    one = NotedReport(soft, now_ms, "4.2.2", "full ü")
    for message, mark in ((1, "x"), (1, "y"), (-(1 << 62) + 3, "x")):
        assert await store.add_report("a", message, "ann@example.com", one, mark)
        assert not await store.add_report("a", message, "ann@example.com", one, mark)
    assert await store.reports_of(1) == [one, one]
    assert await store.soft_bounces("a", "ann@example.com", now_ms) == (3, 2)
    assert await store.soft_bounces("b", "ann@example.com", 0) == (0, 0)
    assert await store.soft_bounces("a", "ann@example.com", now_ms + 1) == (0, 0)
    arrived = NotedReport(ReportKind.delivered, now_ms)
    assert not await store.add_report("a", 2, "bob@example.com", arrived, ""), "none bounced"
    assert await store.add_report("a", 2, "ann@example.com", arrived, "")
    assert await store.soft_bounces("a", "ann@example.com", 0) == (0, 0)
    assert not await store.reports_retain(now_ms)
    assert await store.reports_retain(now_ms + 1)
    assert await store.reports_of(1) == []


async def test_a_token_is_taken_with_one_digest_only(bench: Bench) -> None:
    store, now_ms = bench.store, bench.now_ms
    assert await store.take_token("x", "a", now_ms)
    assert await store.take_token("x", "a", now_ms), "the same again"
    assert not await store.take_token("x", "b", now_ms)
    assert not await store.tokens_retain(now_ms)
    assert await store.tokens_retain(now_ms + 1)
    assert await store.take_token("x", "b", now_ms), "forgotten"


async def test_old_tokens_go_in_slices(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suppressions, "SLICE", 2)
    store, now_ms = bench.store, bench.now_ms
    for token in "abc":
        assert await store.take_token(token, "x", now_ms)
    assert await store.take_token("new", "x", now_ms + 1)
    assert [await store.tokens_retain(now_ms + 1) for _ in range(3)] == [True, True, False]
    assert not await store.take_token("new", "y", now_ms)


async def test_of_one_message_a_hundred_reports_are_noted(bench: Bench) -> None:
    store, one = bench.store, NotedReport(ReportKind.soft_bounce, bench.now_ms, "4.2.2", "full")
    for number in range(100):
        assert await store.add_report("a", 1, "ann@example.com", one, str(number))
    assert not await store.add_report("a", 1, "ann@example.com", one, "another")
    assert await store.add_report("a", 2, "ann@example.com", one, "another")
    assert len(await store.reports_of(1)) == 100
