"""Answer rules: what both databases do alike."""

from typing import Final

import msgspec
from msgspec.structs import replace

from postroad.model.answer_rules import AnswerRule
from postroad.model.tokens import EVERY_TENANT
from postroad.stores.statements import Statements

RULE: Final = msgspec.json.Decoder(AnswerRule)


class RuleTable(Statements):
    """Stores answer rules."""

    async def put_rule(self, rule: AnswerRule, now_ms: int) -> None:
        """Store a rule, or replace the one of the same name."""
        text = msgspec.json.encode(rule).decode()
        await self.execute("rules", "rule_put", rule.tenant, rule.name, text, now_ms)

    async def drop_rule(self, tenant: str, name: str) -> bool:
        """Delete a rule; False when there is none."""
        return await self.changes("rules", "rule_delete", tenant, name)

    async def rules_of(self, tenant: str) -> list[AnswerRule]:
        """The rules of a tenant (or of `*`) by name."""
        rows = await self.select("rules", "rules_of", tenant)
        return [replace(RULE.decode(row[0]), tenant=tenant) for row in rows]

    async def rules_for(self, tenant: str) -> list[AnswerRule]:
        """The rules that hold for a tenant: its own by name, then those of `*`."""
        return await self.rules_of(tenant) + await self.rules_of(EVERY_TENANT)

    async def rules_version(self) -> tuple[int, int]:
        """How many rules there are, and a number that grows with each change."""
        ((count, changed),) = await self.select("rules", "rules_version")
        return count, changed

    async def rule_hits(self, rule: str, lane: int, now_ms: int, within_ms: int, most: int) -> int:
        """Count an answer that a rule is met by, up to `most` within that time."""
        hits = await self.insert("rules", "rule_hit", rule, lane, now_ms, within_ms, most)
        if hits == 1:
            await self.execute("rules", "rule_hits_forget", now_ms)
        return hits
