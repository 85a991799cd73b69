"""What a rule makes of an answer, and which rules are refused."""

import pytest
from msgspec.structs import replace

from postroad.model.answer_rules import AnswerRule, check_rule, ruled, told
from postroad.model.errors import BadInput
from postroad.model.outcome import Kind, Outcome, ProviderAnswer, failed, rejected, unreachable
from postroad.model.ruling import RuleAction
from postroad.rules.rule_book import compile_rule

BUSY = replace(
    failed("data: 451 4.7.1 Try again", status=451), provider=ProviderAnswer("", "4.7.1", "policy")
)


def rule(do: RuleAction, **more: object) -> AnswerRule:
    lasting = {"lasts_s": 60.0} if do in ("retry", "hold_queue", "hold_lane", "limit") else {}
    rate = {"rate": "10/min"} if do is RuleAction.limit else {}
    return AnswerRule("r", "smtp:*", do, **({"status": "451"} | lasting | rate | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("do", "kind", "after_ms"),
    [
        (RuleAction.retry, Kind.failed, 60_000),
        (RuleAction.hold_queue, Kind.quota, 60_000),
        (RuleAction.hold_lane, Kind.quota, 60_000),
        (RuleAction.limit, Kind.failed, 0),
        (RuleAction.reject, Kind.rejected, 0),
        (RuleAction.suppress, Kind.rejected, 0),
    ],
)
def test_what_an_answer_becomes(do: RuleAction, kind: Kind, after_ms: int) -> None:
    found = ruled(BUSY, check_rule(rule(do)))
    assert (found.kind, found.after_ms, found.answered) == (kind, after_ms, True)
    assert found.error == "data: 451 4.7.1 Try again [rule r]"
    assert (found.status, found.provider) == (451, BUSY.provider)
    assert found.ruling is not None
    assert found.ruling.do is do


def test_an_answer_that_is_kept_is_as_it_was() -> None:
    assert ruled(BUSY, rule(RuleAction.keep)) is BUSY


def test_a_server_that_refuses_to_talk_has_answered() -> None:
    closing = unreachable("greeting: 421 4.7.0 Too fast", status=421)
    assert ruled(closing, rule(RuleAction.hold_lane)).answered


def test_a_rejection_that_would_have_been_one_keeps_its_words() -> None:
    gone = rejected("550 5.1.1 No such user", status=550)
    assert ruled(gone, rule(RuleAction.suppress)).error == gone.error


@pytest.mark.parametrize(
    ("conditions", "meets"),
    [
        ({"status": "451"}, True),
        ({"status": "4??"}, True),
        ({"status": "5??"}, False),
        ({"status": "", "code": "4.7.1"}, True),
        ({"status": "", "code": "4.7.*"}, True),
        ({"status": "", "code": "4.7.28"}, False),
        ({"status": "", "text": "TRY +again"}, True),
        ({"status": "", "text": "^451"}, False),
        ({"status": "451", "code": "4.7.1", "text": "again$"}, True),
        ({"status": "450", "code": "4.7.1", "text": "again$"}, False),
    ],
)
def test_all_conditions_have_to_be_met(conditions: dict[str, str], meets: object) -> None:
    found = check_rule(rule(RuleAction.reject, **conditions))
    assert compile_rule(found).applies(BUSY) is meets


def test_an_answer_without_status_meets_no_rule_about_one() -> None:
    assert not compile_rule(rule(RuleAction.reject, status="4*")).applies(Outcome(Kind.failed, "x"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": ""}, "name"),
        ({"name": "gmail/x"}, "without '/'"),
        ({"name": "a\nb"}, "name"),
        ({"lanes": "gmail"}, "name the transport first"),
        ({"status": ""}, "status, code or text"),
        ({"status": "4" * 65}, "at most 64"),
        ({"text": "x" * 501}, "at most 500"),
        ({"text": "a\0"}, "zero character"),
        ({"lasts_s": 0.0}, "give lasts"),
        ({"lasts_s": 90_000.0}, "a second to a day"),
        ({"lasts_s": float("nan")}, "give lasts"),
        ({"count": 0}, "count=0"),
        ({"count": 5_000}, "count=5000"),
        ({"count": 2, "within_s": 0.0}, "within=0.0"),
        ({"rate": "5/s"}, "rate is for do=limit"),
        ({"do": RuleAction.limit, "rate": "fast"}, "50/s"),
        ({"do": RuleAction.limit}, "50/s"),
        ({"do": RuleAction.reject}, "at once"),
    ],
)
def test_a_bad_rule_is_refused_with_the_reason(change: dict[str, object], says: str) -> None:
    good = check_rule(rule(RuleAction.hold_lane))
    with pytest.raises(BadInput, match=says):
        check_rule(replace(good, **change))


def test_what_a_rule_does_is_told_in_words() -> None:
    assert told(rule(RuleAction.hold_lane)) == "holds the lane for 1 min"
    twice = rule(RuleAction.limit, count=2, within_s=3_600.0)
    assert told(twice) == (
        "limits the lane to 10/min for 1 min, once a lane gave 2 such answers within 1 h"
    )
