"""The rules that come with Postroad: one TOML file for each provider, in the folder `shipped`."""

from functools import cache
from importlib.resources import files
from typing import Final

import msgspec
from msgspec.structs import replace

from postroad.model.answer_rules import SHIPPED, AnswerRule, check_rule

FOR: Final = frozenset(("smtp", "sms", "whatsapp"))
"""Transports that they are for: others need not read them."""


@cache
def shipped_rules() -> tuple[AnswerRule, ...]:
    """Read the files in order of name; a rule is called FILE/NAME."""
    found: list[AnswerRule] = []
    folder = files("postroad.rules") / "shipped"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".toml"):
            found += read_set(entry.name.removesuffix(".toml"), entry.read_text("utf-8"))
    return tuple(found)


def read_set(provider: str, text: str) -> list[AnswerRule]:
    """Read one file: its lanes, and its rules."""
    import tomllib  # only a road that sends mails or texts needs it

    data = tomllib.loads(text)
    rules = []
    for each in data["rule"]:
        rule = msgspec.convert({"lanes": data["lanes"], **each}, AnswerRule)
        rules.append(replace(check_rule(rule), name=f"{provider}/{rule.name}", tenant=SHIPPED))
    return rules
