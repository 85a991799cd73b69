"""Answer rules: what certain answers of certain servers do, as data. No I/O."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.durations import Duration, seconds_of
from postroad.model.errors import BadInput
from postroad.model.lane_patterns import check_pattern, matches
from postroad.model.outcome import Kind, Outcome
from postroad.model.pace import read_limit
from postroad.model.ruling import RuleAction, Ruling
from postroad.model.suppression import Reason
from postroad.model.texts import ID_MAX, NAME_MAX, checked
from postroad.model.wording import duration_text

PATTERN_MAX: Final = 500
LASTS_MAX_S: Final = 86_400.0
"""What is held or limited for longer is not a matter of one answer: pause it, or set a limit."""
COUNT_MAX: Final = 1_000
RULES_MAX: Final = 200
"""Rules of one tenant."""
SHIPPED: Final = "shipped"
RULED: Final = frozenset((Kind.failed, Kind.rejected, Kind.quota, Kind.unreachable))
"""Outcomes that a rule may change. Of an unknown one nobody knows whether it was delivered."""


LASTING: Final = frozenset(
    (RuleAction.retry, RuleAction.hold_queue, RuleAction.hold_lane, RuleAction.limit)
)


class AnswerRule(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer of a lane to which all given conditions apply does something. With `count` above 1
    only if there were so many of them on the lane `within_s`."""

    name: str
    lanes: str
    do: RuleAction
    status: str = ""
    """A status of HTTP or SMTP, with ? for a digit: `421`, `4??`."""
    code: str = ""
    """An enhanced code or a provider's number, with * and ?: `4.7.*`."""
    text: str = ""
    """A pattern (RE2) that is searched in what the server said, in upper or lower case."""
    lasts_s: float = 0.0
    """How long it holds or limits, or after how long it retries."""
    rate: str = ""
    """For `limit`: no faster than that meanwhile."""
    reason: Reason = Reason.hard_bounce
    """For `suppress`: why the recipient is not sent to any more."""
    count: int = 1
    within_s: float = 3_600.0
    note: str = ""
    """Why it exists, for its readers."""
    tenant: str = ""
    """Whose rule it is: a tenant's, `*` for every tenant, or `shipped`."""


def check_rule(rule: AnswerRule) -> AnswerRule:
    """Return the rule; BadInput says what is wrong with it. Its text is not compiled here."""
    _ = check_pattern(rule.lanes)  # raises
    lengths = {"name": NAME_MAX, "status": ID_MAX, "code": ID_MAX, "text": PATTERN_MAX}
    for name, most in lengths.items():
        _ = checked(name, getattr(rule, name), most)  # raises
    if not rule.name or not rule.name.isprintable() or "/" in rule.name:
        raise BadInput(f"name {rule.name!r}: give letters without '/', which marks shipped rules")
    if not (rule.status or rule.code or rule.text):
        raise BadInput(f"rule {rule.name!r}: say which answers: give status, code or text")
    if not 1 <= rule.count <= COUNT_MAX:
        raise BadInput(f"count={rule.count}: give 1 to {COUNT_MAX}")
    if rule.count > 1 and not 1 <= rule.within_s <= LASTS_MAX_S:
        raise BadInput(f"within={rule.within_s}: give a second to a day")
    _check_action(rule)
    return rule


def _check_action(rule: AnswerRule) -> None:
    if rule.do in LASTING and not 1 <= rule.lasts_s <= LASTS_MAX_S:
        raise BadInput(f"do={rule.do}: give lasts, a second to a day")
    if rule.do not in LASTING and rule.lasts_s:
        raise BadInput(f"do={rule.do} is at once: leave lasts out")
    if rule.do is RuleAction.limit:
        _ = read_limit(rule.rate or "none")  # raises
    elif rule.rate:
        raise BadInput(f"rate is for do={RuleAction.limit}: leave it out")


def span_s(span: Duration, name: str) -> float:
    """Return a duration in seconds; BadInput when it is none."""
    seconds = seconds_of(span)
    if not 0 <= seconds <= LASTS_MAX_S:
        raise BadInput(f"{name}={span!r}: give seconds or a timedelta, at most a day")
    return seconds


def looks_so(pattern: str, said: str) -> bool:
    """Whether a status or code looks like a pattern; an empty pattern takes everything."""
    return not pattern or matches(pattern, said)


KINDS: Final = {
    RuleAction.retry: Kind.failed,
    RuleAction.hold_queue: Kind.quota,
    RuleAction.hold_lane: Kind.quota,
    RuleAction.reject: Kind.rejected,
    RuleAction.suppress: Kind.rejected,
}
"""What becomes of the message; of the other actions it is what the transport said."""


def ruled(outcome: Outcome, rule: AnswerRule) -> Outcome:
    """Return the outcome that a rule makes of an answer. What was said stays with it."""
    if rule.do is RuleAction.keep:
        return outcome
    lasts_ms = round(rule.lasts_s * 1000)
    ruling = Ruling(rule.name, rule.do, lasts_ms, rule.rate)
    kind = KINDS.get(rule.do, outcome.kind)
    # The explanation of what waits or died names it, unless the answer alone would have done it.
    plain = kind is outcome.kind is Kind.rejected
    error = outcome.error if plain else f"{outcome.error} [rule {rule.name}]"
    outcome = replace(outcome, error=error, ruling=ruling)
    if rule.do is RuleAction.limit:
        return outcome
    after_ms = 0 if kind is Kind.rejected else lasts_ms
    temporary = rule.do is RuleAction.retry
    changes = {"kind": kind, "after_ms": after_ms, "temporary": temporary}
    return replace(outcome, disables=False, answered=True, **changes)


def told(rule: AnswerRule) -> str:
    """Say what a rule does, in a sentence's end."""
    span = duration_text(round(rule.lasts_s * 1000))
    does = {
        RuleAction.keep: "leaves the answer as it is",
        RuleAction.retry: f"tries the message again after {span}",
        RuleAction.hold_queue: f"holds the queue for {span}",
        RuleAction.hold_lane: f"holds the lane for {span}",
        RuleAction.limit: f"limits the lane to {rule.rate} for {span}",
        RuleAction.reject: "rejects the message",
        RuleAction.suppress: "rejects the message and suppresses its recipient",
    }[rule.do]
    if rule.count == 1:
        return does
    within = duration_text(round(rule.within_s * 1000))
    return f"{does}, once a lane gave {rule.count} such answers within {within}"
