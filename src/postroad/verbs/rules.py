"""Answer rules as a program uses them: put, list, delete, test."""

import re
from typing import Final, TypedDict, Unpack

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.answer_rules import (
    RULES_MAX,
    AnswerRule,
    check_rule,
    span_s,
    told,
)
from postroad.model.durations import Duration
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, TenantFull, UnknownRule
from postroad.model.lane_patterns import matches
from postroad.model.outcome import Outcome, ProviderAnswer, failed
from postroad.model.ruling import RuleAction
from postroad.model.suppression import Reason, check_reason
from postroad.model.tokens import EVERY_TENANT
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.rules.rule_book import compile_rule
from postroad.rules.shipped_rules import shipped_rules
from postroad.verbs.bounding import bounded
from postroad.verbs.tokens import check_tenant

ANSWER: Final = re.compile(
    r"([0-9]{3})(?:[ -]+([245]\.[0-9]{1,3}\.[0-9]{1,3}|[0-9]{4,6})(?![0-9]))?"
)
"""The beginning of an answer: a status, and an enhanced code or a provider's number."""


class RuleOptions(TypedDict, total=False):
    """Which answers a rule means, and for how long it does something."""

    status: str
    """A status of HTTP or SMTP, with ? for a digit: `421`, `4??`."""
    code: str
    """An enhanced code or a provider's number, with * and ?: `4.7.*`."""
    text: str
    """A pattern (RE2) that is searched in what the server said."""
    lasts: Duration
    """How long it holds or limits, or after how long it retries."""
    rate: str
    """For `limit`: no faster than that meanwhile."""
    reason: str
    """For `suppress`: hard_bounce unless given."""
    count: int
    """How many such answers a lane has to give first,"""
    within: Duration
    """in this time: an hour unless given."""
    note: str


class RuleMatch(Struct, frozen=True):
    """A rule that an answer meets, and what it would do."""

    rule: AnswerRule
    does: str


class RuleTest(Struct, frozen=True):
    """An answer as rules read it, and the rules that it meets; the first one counts."""

    status: int
    code: str
    text: str
    matches: tuple[RuleMatch, ...]


@bounded
class RuleAdmin:
    """Put, list, delete and test answer rules: what certain answers of certain servers do."""

    def __init__(self, store: Store, log: Log) -> None:
        self._store = store
        self._log = log

    async def put(
        self,
        name: str,
        *,
        lanes: str,
        do: str,
        tenant: str = DEFAULT_TENANT,
        **options: Unpack[RuleOptions],
    ) -> AnswerRule:
        """Store a rule; it replaces one of the same name. `lanes` is a pattern of TRANSPORT:SERVER,
        `do` one of keep, retry, hold_queue, hold_lane, limit, reject and suppress. The tenant `*`
        means every tenant."""
        check_tenant(tenant)
        rule = check_rule(_rule(name, lanes, do, options))
        _ = compile_rule(rule)  # raises
        known = {each.name for each in await self._store.rules_of(tenant)}
        if len(known | {name}) > RULES_MAX:
            raise TenantFull(f"a tenant has at most {RULES_MAX} answer rules: delete some")
        rule = replace(rule, tenant=tenant)
        await self._store.put_rule(rule, self._store.clock.now_ms())
        self._log.info("answer rule put", rule=name, lanes=lanes, do=do, tenant=tenant)
        return rule

    async def list(self, *, shipped: bool = True, tenant: str = DEFAULT_TENANT) -> list[AnswerRule]:
        """List the rules that hold for a tenant, in the order in which they are tried: its own,
        those of every tenant, and those that come with Postroad."""
        own = await self._store.rules_of(tenant)
        others = [] if tenant == EVERY_TENANT else await self._store.rules_of(EVERY_TENANT)
        return [*own, *others, *(shipped_rules() if shipped else ())]

    async def delete(self, name: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Delete a rule."""
        if not await self._store.drop_rule(tenant, name):
            hint = "; a shipped rule is switched off by one of your own with do=keep"
            raise UnknownRule(
                f"tenant {tenant!r} has no rule {name!r}{hint if '/' in name else ''}"
            )
        self._log.info("answer rule deleted", rule=name, tenant=tenant)

    async def test(self, answer: str, *, lane: str = "", tenant: str = DEFAULT_TENANT) -> RuleTest:
        """Say which rules an answer such as `421 4.7.28 Too fast` meets, and what they would do:
        on a lane, TRANSPORT:SERVER, or, without one, on any."""
        outcome = read_answer(answer)
        found = [
            RuleMatch(rule, told(rule))
            for rule in await self.list(tenant=tenant)
            if not lane or matches(rule.lanes, lane)
            if compile_rule(rule).applies(outcome)
        ]
        return RuleTest(outcome.status, outcome.provider.code, outcome.error, tuple(found))


def read_answer(answer: str) -> Outcome:
    """Read an answer as a server gives it: its status, its code, and all of it as text."""
    found = ANSWER.match(answer.strip())
    if found is None:
        raise BadInput(f"answer {answer[:100]!r}: begin with its status, as '421 4.7.28 …'")
    code = found[2] or found[1]
    return replace(failed(answer.strip(), status=int(found[1])), provider=ProviderAnswer("", code))


def _rule(name: str, lanes: str, do: str, options: RuleOptions) -> AnswerRule:
    if do not in tuple(RuleAction):
        raise BadInput(f"do={do!r}: give one of {', '.join(RuleAction)}")
    return AnswerRule(
        name,
        lanes,
        RuleAction(do),
        status=options.get("status", ""),
        code=options.get("code", ""),
        text=options.get("text", ""),
        lasts_s=span_s(options.get("lasts", 0), "lasts"),
        rate=options.get("rate", ""),
        reason=check_reason(options.get("reason", Reason.hard_bounce)),
        count=options.get("count", 1),
        within_s=span_s(options.get("within", 3_600), "within"),
        note=options.get("note", ""),
    )
