"""Answer rules: put, list, delete and test them."""

from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from postroad.api.everywhere import Everywhere, whose
from postroad.api.request import Request
from postroad.api.routing import drop, fetch, give
from postroad.model.answer_rules import COUNT_MAX, LASTS_MAX_S, PATTERN_MAX, AnswerRule
from postroad.model.ruling import RuleAction
from postroad.model.suppression import Reason
from postroad.model.texts import ERROR_MAX, NAME_MAX, ErrorText, Id, Lanes, QueueName, Rate
from postroad.model.tokens import EVERY_TENANT, Scope
from postroad.verbs.rules import RuleOptions, RuleTest

Seconds = Annotated[float, Meta(ge=0, le=LASTS_MAX_S)]
Answer = Annotated[
    str, Meta(min_length=1, max_length=ERROR_MAX, description="What a server said, status first")
]
LaneName = Annotated[QueueName, Meta(description="TRANSPORT:SERVER; without it any lane")]


class RuleRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An answer on these lanes to which all of `status`, `code` and `text` apply does something;
    with `count` only if there were so many within `within_s`."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
    lanes: Lanes
    do: RuleAction
    status: Id = ""
    code: Id = ""
    text: Annotated[str, Meta(max_length=PATTERN_MAX)] = ""
    lasts_s: Seconds = 0.0
    rate: Rate = ""
    reason: Reason = Reason.hard_bounce
    count: Annotated[int, Meta(ge=1, le=COUNT_MAX)] = 1
    within_s: Seconds = 3_600.0
    note: ErrorText = ""
    everywhere: Everywhere = False


@give("/v1/rules", scope=Scope.manage, status=201)
async def rule_put(request: Request, asked: RuleRequest) -> AnswerRule:
    """Store an answer rule; it replaces one of the same name."""
    given: RuleOptions = {
        "status": asked.status,
        "code": asked.code,
        "lasts": asked.lasts_s,
        "rate": asked.rate,
        "reason": asked.reason,
        "count": asked.count,
        "within": asked.within_s,
        "note": asked.note,
    }
    if asked.text:
        given["text"] = asked.text
    tenant = whose(request, everywhere=asked.everywhere)
    rules = request.road.rules
    return await rules.put(asked.name, lanes=asked.lanes, do=asked.do, tenant=tenant, **given)


@fetch("/v1/rules", scope=Scope.read)
async def rule_list(request: Request) -> list[AnswerRule]:
    """List the answer rules in the order in which they are tried: the tenant's, those of every
    tenant (for a token of every tenant), and those that come with Postroad."""
    found = await request.road.rules.list(tenant=request.tenant)
    return [rule for rule in found if _is_shown(request, rule)]


@fetch("/v1/rules:test", scope=Scope.read)
async def rule_test(request: Request, answer: Answer, lane: LaneName = "") -> RuleTest:
    """Say which rules an answer meets, and what they would do; the first one counts."""
    said = await request.road.rules.test(answer, lane=lane, tenant=request.tenant)
    return replace(said, matches=tuple(one for one in said.matches if _is_shown(request, one.rule)))


@drop("/v1/rules/{name}", scope=Scope.manage, status=204)
async def rule_delete(request: Request, name: str, everywhere: Everywhere = False) -> None:
    """Delete an answer rule."""
    await request.road.rules.delete(name, tenant=whose(request, everywhere=everywhere))


def _is_shown(request: Request, rule: AnswerRule) -> bool:
    return rule.tenant != EVERY_TENANT or request.who.every_tenant


ROUTES: Final = (rule_put, rule_list, rule_test, rule_delete)
