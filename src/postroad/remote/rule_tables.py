"""Which requests the verbs of answer rules are."""

from typing import Final

from postroad.model.answer_rules import AnswerRule
from postroad.model.durations import seconds_of
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.tokens import EVERY_TENANT
from postroad.remote.calls import Args, VerbCall, Verbs, ask
from postroad.remote.client import RemoteClient
from postroad.rules.shipped_rules import shipped_rules

SECONDS: Final = {"lasts": "lasts_s", "within": "within_s"}


def _in_seconds(given: Args) -> Args:
    return {
        SECONDS.get(name, name): seconds_of(value) if name in SECONDS else value
        for name, value in given.items()
    }


async def _rules(client: RemoteClient, args: Args) -> list[AnswerRule]:
    """The API lists the shipped ones too, and for a tenant those of every tenant."""
    shipped, tenant = args.pop("shipped"), args["tenant"]
    if tenant == EVERY_TENANT:
        args["tenant"] = DEFAULT_TENANT
    found: list[AnswerRule] = await ask(
        client, VerbCall("GET", "/v1/rules"), args, list[AnswerRule]
    )
    with_postroad = {rule.name for rule in shipped_rules()}
    own = [
        rule
        for rule in found
        if rule.name not in with_postroad and (tenant != EVERY_TENANT or rule.tenant == tenant)
    ]
    return [*own, *(shipped_rules() if shipped else ())]


RULES: Final[Verbs] = {
    "put": VerbCall("POST", "/v1/rules", again=True, everybody="everywhere", shape=_in_seconds),
    "list": _rules,
    "delete": VerbCall("DELETE", "/v1/rules/{name}", everybody="everywhere"),
    "test": VerbCall("GET", "/v1/rules:test"),
}
