"""RuleBook: the rules of each tenant, compiled once a version, applied to answers that are no
success."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from postroad.model.answer_rules import RULED, AnswerRule, looks_so, ruled
from postroad.model.entities import LaneKey, Message
from postroad.model.errors import BadInput, MissingExtra, StoreError
from postroad.model.ids import key_text
from postroad.model.lane_patterns import lane_name, matches
from postroad.model.named_limits import NewLimit
from postroad.model.outcome import Outcome
from postroad.model.pace import read_limit
from postroad.model.recipients import recipient_of
from postroad.model.ruling import RuleAction
from postroad.model.suppression import Reason, Suppression
from postroad.model.wording import moment
from postroad.ports.log import Log
from postroad.ports.rules import RuledStore
from postroad.rules.patterns import Pattern, compiled
from postroad.rules.shipped_rules import FOR, shipped_rules

FRESH_S: Final = 5.0
"""A rule that somebody put holds after this long in every process."""
RETRY_S: Final = 1.0
TENANTS_MAX: Final = 1_000
LANES_MAX: Final = 10_000
NOTE_MAX: Final = 200
READ: Final = "read the answer rules"
CARRY_OUT: Final = "carry out an answer rule"


class CompiledRule(Struct, frozen=True):
    """A rule with its pattern."""

    rule: AnswerRule
    text: Pattern | None = None

    def applies(self, outcome: Outcome) -> bool:
        """Whether an answer meets all conditions."""
        rule = self.rule
        status = str(outcome.status) if outcome.status else ""
        if not (looks_so(rule.status, status) and looks_so(rule.code, outcome.provider.code)):
            return False
        return self.text is None or self.text.search(outcome.error) is not None


def compile_rule(rule: AnswerRule) -> CompiledRule:
    """Compile a rule's pattern, if it has one."""
    return CompiledRule(rule, compiled(rule.text) if rule.text else None)


class RuleBook:
    """Finds the rule that applies to an answer, and carries it out."""

    def __init__(self, store: RuledStore, log: Log) -> None:
        self._store = store
        self._log = log
        self._clock = store.clock
        self._version = (-1, -1)
        self._asked_s = -math.inf
        self._asking = asyncio.Lock()
        self._tenants: OrderedDict[str, tuple[CompiledRule, ...]] = OrderedDict()
        self._lanes: OrderedDict[tuple[str, str], tuple[CompiledRule, ...]] = OrderedDict()
        self._lacking = False

    async def apply(self, key: LaneKey, lane: int, message: Message, outcome: Outcome) -> Outcome:
        """Return what the first rule that applies makes of an answer, or the answer as it is."""
        if outcome.kind not in RULED:
            return outcome
        try:
            for each in await self._of_lane(key):
                if each.applies(outcome) and await self._often_enough(each.rule, lane):
                    changed = ruled(outcome, each.rule)
                    if changed is not outcome:
                        await self._carry_out(key, message, changed, each.rule)
                    return changed
        except StoreError as error:
            self._log.store_failed(READ, error)
        return outcome

    # Which rules there are

    async def _of_lane(self, key: LaneKey) -> tuple[CompiledRule, ...]:
        await self._refresh()
        name = lane_name(key.transport, key.server)
        found = self._lanes.get((key.tenant, name))
        if found is None:
            own = await self._of_tenant(key.tenant) if self._version[0] else ()
            all_of_them = (*own, *self._shipped()) if key.transport in FOR else own
            found = tuple(one for one in all_of_them if matches(one.rule.lanes, name))
            self._lanes[(key.tenant, name)] = found
            if len(self._lanes) > LANES_MAX:
                _ = self._lanes.popitem(last=False)  # the oldest
        return found

    async def _refresh(self) -> None:
        if self._is_fresh:
            return
        async with self._asking:
            if self._is_fresh:  # since another answer asked
                return
            version = await self._store.rules_version()
            self._log.store_works(READ)
            self._asked_s = self._clock.steady_s()
        if version != self._version:
            self._version = version
            self._tenants.clear()
            self._lanes.clear()

    @property
    def _is_fresh(self) -> bool:
        return self._clock.steady_s() - self._asked_s < FRESH_S

    async def _of_tenant(self, tenant: str) -> tuple[CompiledRule, ...]:
        found = self._tenants.get(tenant)
        if found is None:
            found = self._compiled(await self._store.rules_for(tenant))
            self._tenants[tenant] = found
            if len(self._tenants) > TENANTS_MAX:
                _ = self._tenants.popitem(last=False)  # the oldest
        return found

    def _shipped(self) -> tuple[CompiledRule, ...]:
        if "" not in self._tenants:
            self._tenants[""] = self._compiled(shipped_rules())
        return self._tenants[""]

    def _compiled(self, rules: Sequence[AnswerRule]) -> tuple[CompiledRule, ...]:
        found = []
        for rule in rules:
            try:
                found.append(compile_rule(rule))
            except MissingExtra as error:
                if not self._lacking:
                    self._lacking = True
                    event = "some answer rules cannot be used in this process"
                    self._log.error(event, why=str(error))
            except BadInput as error:  # it was stored by another release
                self._log.error("an answer rule cannot be used", rule=rule.name, why=str(error))
        return tuple(found)

    # What they do

    async def _often_enough(self, rule: AnswerRule, lane: int) -> bool:
        if rule.count == 1:
            return True
        within_ms = round(rule.within_s * 1000)
        name = f"{rule.tenant}/{rule.name}"
        now_ms = self._clock.now_ms()
        hits = await self._store.rule_hits(name, lane, now_ms, within_ms, rule.count)
        return hits >= rule.count

    async def _carry_out(
        self, key: LaneKey, message: Message, outcome: Outcome, rule: AnswerRule
    ) -> None:
        if rule.do is RuleAction.limit:
            await self._limit(key, rule)
        elif rule.do is RuleAction.suppress:
            await self._suppress(key.tenant, message, outcome, rule.reason)

    async def _limit(self, key: LaneKey, rule: AnswerRule) -> None:
        """Add a stricter limit for a while; should the store be away, the next answer does it."""
        until_ms = self._clock.now_ms() + round(rule.lasts_s * 1000)
        lanes, name = lane_name(key.transport, key.server), f"rule {rule.name}: {key.server}"
        try:
            new = NewLimit(name, key.tenant, lanes, read_limit(rule.rate), until_ms)
        except BadInput as error:  # a server's name that is too long for a pattern
            self._log.warning("an answer rule could not limit a lane", why=str(error))
            return
        await self._store.put_limit(new)
        facts = {"limit": name, "rate": rule.rate, "until": moment(until_ms)}
        self._log.warning("limit lowered by an answer rule", **facts)

    async def _suppress(
        self, tenant: str, message: Message, outcome: Outcome, reason: Reason
    ) -> None:
        """Put the recipient on the suppression list before the rejection is recorded: after it
        nobody would come back to it."""
        try:
            recipient = recipient_of(message)
        except BadInput:
            return  # a webhook's message names nobody
        note, ref = outcome.error[:NOTE_MAX], key_text(message.id)
        entry = Suppression(tenant, recipient, reason, self._clock.now_ms(), "", ref, note)
        while not await self._suppressed(entry):
            await self._clock.sleep(RETRY_S)

    async def _suppressed(self, entry: Suppression) -> bool:
        try:
            _ = await self._store.suppress([entry])  # it is there now
        except StoreError as error:
            self._log.store_failed(CARRY_OUT, error)
            return False
        self._log.store_works(CARRY_OUT)
        return True
