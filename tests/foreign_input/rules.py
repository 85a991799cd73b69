"""Doors of answer rules: patterns that tenants write, and what servers say to them."""

from contextlib import suppress
from typing import Any

from postroad.model.errors import BadInput
from postroad.model.lane_patterns import check_pattern, matches
from postroad.rules.patterns import compiled
from postroad.rules.rule_book import CompiledRule, compile_rule
from postroad.rules.shipped_rules import shipped_rules
from postroad.transports.smtp.domain_checks import _dkim, _dmarc, _spf
from postroad.verbs.rules import read_answer
from tests.foreign_input.shape import BARE, Door

RECORDS = ("_spf", "_lookups", "_dmarc", "_dkim")
HOSTILE = tuple(compiled(text) for text in ("(a+)+$", "(.*)(.*)x", "( | )*y", "a{500}!"))
SHIPPED = tuple(compile_rule(rule) for rule in shipped_rules())
RULES = (*SHIPPED, *(CompiledRule(shipped_rules()[0], pattern) for pattern in HOSTILE))
STARS = ("smtp:*a*a*a*a*a*a*a*b", "smtp:*?*?*?*?b", "*.*.*.*.*.*.*.*x", "smtp:*.google.com")


def tried_out(data: bytes) -> None:
    outcome = read_answer(data.decode("latin-1"))
    for rule in RULES:
        _ = rule.applies(outcome)


def placed(data: bytes) -> None:
    text = data.decode("latin-1")
    with suppress(BadInput):
        check_pattern(text)
    for pattern in STARS:
        _ = matches(pattern, text)


class Says:
    """A name server that says the same for every name."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def txt(self, _name: str) -> tuple[str, ...]:
        return (self._text,)


def looked_at(data: bytes) -> None:
    says: Any = Says(data.decode("latin-1"))
    for check in (_spf("a.test", says), _dmarc("a.test", says), _dkim("a.test", "s", says)):
        with suppress(StopIteration):
            check.send(None)


DOORS = (
    Door(
        "records of a domain",
        looked_at,
        tuple(f"transports/smtp/domain_checks.py:{name}" for name in RECORDS),
        size=4_096,
        frames=(BARE, (b"v=spf1 ", b""), (b"v=DMARC1;", b""), (b"p=", b""), (b"v=spf1 a:", b" a")),
    ),
    Door(
        "an answer that rules are tried on",
        tried_out,
        ("verbs/rules.py:ANSWER",),
        size=1_000,
        frames=((b"421 ", b""), (b"421-4.7.", b"!"), (b"421 2", b"1"), (b"550 5.1.1 ", b"x")),
        raises=(BadInput,),
    ),
    Door(
        "the name of a lane, and a pattern", placed, (), size=2_000, frames=(BARE, (b"smtp:", b""))
    ),
    Door(
        "a rule's text",
        lambda data: compiled(data.decode("latin-1")),
        (),
        size=240,
        frames=(BARE, (b"(", b")+"), (b"[", b"]")),
        raises=(BadInput,),
    ),
)
