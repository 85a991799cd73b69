"""The rules that come with Postroad: what they do with answers in the providers' forms."""

import pytest

from postroad.model.answer_rules import AnswerRule
from postroad.model.lane_patterns import matches
from postroad.model.ruling import RuleAction
from postroad.rules.rule_book import compile_rule
from postroad.rules.shipped_rules import shipped_rules
from postroad.verbs.rules import read_answer

GMAIL, OUTLOOK, YAHOO = "smtp:google.com", "smtp:outlook.com", "smtp:yahoodns.net"


def first(lane: str, answer: str) -> AnswerRule | None:
    outcome = read_answer(answer)
    for rule in shipped_rules():
        if matches(rule.lanes, lane) and compile_rule(rule).applies(outcome):
            return rule
    return None


@pytest.mark.parametrize(
    ("lane", "answer", "name", "do"),
    [
        (GMAIL, "421-4.7.28 unusual rate of mail", "gmail/too-fast", "limit"),
        (GMAIL, "421-4.7.0 an unusual rate from your address", "gmail/unusual-rate", "hold_lane"),
        (GMAIL, "450-4.2.1 receiving mail too quickly", "gmail/mailbox-too-busy", "retry"),
        (GMAIL, "452-4.2.2 over quota", "gmail/mailbox-full", "retry"),
        (GMAIL, "550-5.1.1 does not exist", "gmail/no-such-mailbox", "suppress"),
        (GMAIL, "550-5.2.1 is disabled", "gmail/mailbox-disabled", "reject"),
        (GMAIL, "550-5.7.26 not authenticated", "gmail/sender-not-proven", "hold_queue"),
        (GMAIL, "421-4.7.40 no DMARC policy", "gmail/sender-not-proven", "hold_queue"),
        (GMAIL, "550-5.7.1 likely unsolicited mail", "gmail/reputation", "reject"),
        (OUTLOOK, "451 4.7.650 temporarily rate limited", "outlook/reputation-limit", "limit"),
        (OUTLOOK, "451 4.7.500 Server busy (AS761)", "outlook/busy", "hold_lane"),
        (OUTLOOK, "421 4.3.2 concurrent connections", "outlook/too-many-connections", "hold_lane"),
        (OUTLOOK, "550 5.7.1 on our block list (S3140)", "outlook/address-blocked", "hold_lane"),
        (OUTLOOK, "550 5.7.606 banned sending IP", "outlook/address-blocked", "hold_lane"),
        (OUTLOOK, "550 5.7.515 does not meet the level", "outlook/sender-not-proven", "hold_queue"),
        (OUTLOOK, "550 5.1.10 not found", "outlook/no-such-mailbox", "suppress"),
        (OUTLOOK, "550 5.5.0 mailbox unavailable", "outlook/mailbox-unavailable", "suppress"),
        (OUTLOOK, "550 5.7.1 Recipient address rejected", "outlook/policy", "reject"),
        (YAHOO, "421 4.7.0 [TSS04] deferred", "yahoo/complaints", "limit"),
        (YAHOO, "421 4.7.1 [TSS11] deferred for ever", "yahoo/deferred-for-good", "hold_lane"),
        (YAHOO, "553 5.7.1 [BL21] on a list", "yahoo/address-blocked", "hold_lane"),
        (YAHOO, "421 Max message per connection reached", "yahoo/full-connection", "retry"),
        (YAHOO, "451 Message temporarily deferred", "yahoo/deferred", "retry"),
        (YAHOO, "554 delivery error: dd This user doesn't have a yahoo.com account",
         "yahoo/no-such-mailbox", "suppress"),
        (YAHOO, "554 5.7.9 policy reasons", "yahoo/policy", "reject"),
        ("sms:main", "400 21610 unsubscribed", "twilio/stopped", "suppress"),
        ("sms:main", "400 21211 not a valid number", "twilio/no-such-number", "suppress"),
        ("sms:main", "429 20429 too many requests", "twilio/too-many-requests", "hold_lane"),
        ("whatsapp:main", "400 63016 outside the window", "whatsapp/outside-the-window", "reject"),
    ],
)  # fmt: skip
def test_the_rule_that_an_answer_meets(lane: str, answer: str, name: str, do: str) -> None:
    found = first(lane, answer)
    assert found is not None, answer
    assert (found.name, found.do) == (name, do)


@pytest.mark.parametrize("lane", [GMAIL, OUTLOOK, YAHOO])
def test_a_policy_rejection_never_suppresses(lane: str) -> None:
    for code in ("5.7.0", "5.7.1", "5.7.9", "5.7.25", "5.7.26", "5.7.509", "5.7.606"):
        for words in ("", " mailbox unavailable", " recipient address rejected", " not found"):
            found = first(lane, f"550 {code}{words}")
            assert found is None or found.do is not RuleAction.suppress, (code, words)


def test_whom_no_server_knows_is_suppressed_whatever_the_server() -> None:
    found = first("smtp:example.com", "550 5.1.1 unknown")
    assert found is not None
    assert (found.name, found.do) == ("mail/no-such-mailbox", RuleAction.suppress)


def test_other_lanes_and_answers_meet_none_of_them() -> None:
    assert first("smtp:example.com", "550 5.2.1 closed") is None
    assert first(GMAIL, "451 4.3.0 try again") is None
    assert first("webhook:https://google.com", "421 4.7.28 x") is None


def test_every_rule_has_its_reason_and_a_name_of_its_own() -> None:
    rules = shipped_rules()
    assert len({rule.name for rule in rules}) == len(rules)
    assert all(rule.note for rule in rules)
    assert {rule.name.partition("/")[0] for rule in rules} == {
        "gmail",
        "mail",
        "outlook",
        "yahoo",
        "twilio",
        "whatsapp",
    }
