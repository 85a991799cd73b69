"""What an answer rule did to an outcome."""

from enum import StrEnum

from msgspec import Struct


class RuleAction(StrEnum):
    """What a rule does with an answer."""

    keep = "keep"
    """The rule changes nothing, and rules that follow do not apply either."""
    retry = "retry"
    hold_queue = "hold_queue"
    hold_lane = "hold_lane"
    limit = "limit"
    reject = "reject"
    suppress = "suppress"


class Ruling(Struct, frozen=True, gc=False):
    """What a rule did to an outcome, besides what the outcome says by itself."""

    rule: str
    do: RuleAction
    lasts_ms: int = 0
    rate: str = ""
